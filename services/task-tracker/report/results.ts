import type { ResultRefusal__Output } from '../../../shared/grpc/generated/lts/v1/ResultRefusal.js';
import type { ResultsAck__Output } from '../../../shared/grpc/generated/lts/v1/ResultsAck.js';
import type { TaskResult } from '../../../shared/grpc/generated/lts/v1/TaskResult.js';
import type { WorkRequest } from '../../../shared/grpc/generated/lts/v1/WorkRequest.js';
import type { Logger } from '../../../shared/log/logger.js';
import { backoffMs } from '../../../shared/time/backoff.js';
import type { Clock, Timer } from '../../../shared/time/clock.js';
import { type Attempt, type Attempts, keyOf } from '../stream/attempts.js';
import type { ResultStore } from './result-store.js';

/** A result that is not acked within this time goes to the FailStore. Milliseconds. */
const storeAfterMs = 1_000;
const sweepEveryMs = 250;
const mostPerFrame = 1_000;
const mostCharsPerFrame = 256 * 1024;
/** With so much unacked no more work is taken. */
const mostUnacked = 10_000;
const mostUnackedChars = 32 * 1024 * 1024;

/** The stream that results go to. */
export interface ResultStream {
  readonly closed: boolean;
}

/** What the book needs of its surroundings. */
export interface ResultPorts {
  attempts: Attempts;
  store: ResultStore;
  clock: Clock;
  log: Logger;
  /** There is something to send again. */
  onWaiting(): void;
}

/*
 * The results of this worker: a result is kept until a tracker has settled it, first in memory, then, when no ack came
 * within a second, in the FailStore as well.
 *
 * waiting → in flight (sent as part of a numbered frame) → settled
 *    ▲           │ refused LOADING or NOT_OWNER: after a pause; a new stream or a new Owns: at once, all of them
 *    └───────────┘
 *
 * Results go to one stream, the home: the newest one that was told what this worker has. Acks of older frames and
 * streams still count, because they settle attempts and not places in a queue.
 */
export class Results {
  readonly #ports: ResultPorts;
  /** By age. */
  readonly #unacked = new Set<Attempt>();
  #unackedChars = 0;
  #waiting: Attempt[] = [];
  #at = 0;
  readonly #inFlight = new Map<ResultStream, Map<number, Attempt[]>>();
  #home: ResultStream | undefined;
  #sequence = 0;
  #deferred: Attempt[] = [];
  #refusedInARow = 0;
  #retry: Timer | undefined;
  #sweep: Timer | undefined;
  /** Settled ones that are in the FailStore; deleted together. */
  #toForget: TaskResult[] = [];

  constructor(ports: ResultPorts) {
    this.#ports = ports;
    this.takeStored(0);
  }

  /** Results of other incarnations have come into the FailStore, behind this place: they are sent like own ones. */
  takeStored(afterSeq: number): void {
    for (const result of this.#ports.store.load(afterSeq)) this.#restore(result);
  }

  /** Whether results of another incarnation are not settled yet. */
  owes(incarnation: string): boolean {
    for (const { handle, result } of this.#unacked) if (handle === 0 && result?.incarnation === incarnation) return true;
    return false;
  }

  get unacked(): number {
    return this.#unacked.size;
  }

  /** So much is unacked that no more work must be taken. */
  get overloaded(): boolean {
    return this.#unacked.size >= mostUnacked || this.#unackedChars >= mostUnackedChars;
  }

  add(attempt: Attempt, result: TaskResult): void {
    attempt.result = result;
    attempt.finishedAt = this.#ports.clock.monotonic();
    this.#unacked.add(attempt);
    this.#unackedChars += sizeOf(result);
    this.#waiting.push(attempt);
    this.#armSweep();
  }

  /** Results go to this stream from now on, all of them again. */
  setHome(stream: ResultStream): void {
    if (this.#home !== stream) this.#sequence = 0;
    this.#home = stream;
    this.#deferred = [];
    this.#waiting = [...this.#unacked];
    this.#at = 0;
  }

  /** A tracker has asked for it by sending its task again. */
  sendAgain(attempt: Attempt): void {
    if (this.#unacked.has(attempt)) this.#waiting.push(attempt);
  }

  closed(stream: ResultStream): void {
    this.#inFlight.delete(stream);
    if (this.#home === stream) this.#home = undefined;
  }

  nextFrame(stream: ResultStream): WorkRequest | undefined {
    if (stream !== this.#home || this.#at === this.#waiting.length) return undefined;
    const taken: Attempt[] = [];
    const results: TaskResult[] = [];
    const predecessors = new Set<string>();
    let chars = 0;
    while (this.#at < this.#waiting.length && results.length < mostPerFrame && chars < mostCharsPerFrame) {
      const attempt = this.#waiting[this.#at++] as Attempt;
      if (attempt.settled || attempt.result === undefined) continue;
      taken.push(attempt);
      results.push(attempt.result);
      if (attempt.handle === 0) predecessors.add(attempt.result.incarnation ?? '');
      chars += sizeOf(attempt.result);
    }
    if (this.#at === this.#waiting.length) {
      this.#waiting = [];
      this.#at = 0;
    }
    if (taken.length === 0) return undefined;
    const sequence = ++this.#sequence;
    let frames = this.#inFlight.get(stream);
    if (frames === undefined) this.#inFlight.set(stream, (frames = new Map()));
    frames.set(sequence, taken);
    return { results: { sequence, results, predecessors: [...predecessors] } };
  }

  ack(stream: ResultStream, ack: ResultsAck__Output): void {
    const frames = this.#inFlight.get(stream);
    const sent = frames?.get(ack.sequence);
    if (sent === undefined) return;
    frames?.delete(ack.sequence);
    const refusals = ack.refusals.length === 0 ? undefined : new Map(ack.refusals.map((refusal) => [keyOf(refusal.instance_id, refusal.attempt), refusal]));
    let again = 0;
    for (const attempt of sent) {
      const refusal = refusals?.get(attempt.key);
      if (refusal !== undefined && isTemporary(refusal)) {
        if (!attempt.settled) this.#deferred.push(attempt);
        again++;
      } else this.#settle(attempt, refusal);
    }
    if (again > 0) this.#retryLater();
    else this.#refusedInARow = 0;
  }

  /** Puts all that is unacked into the FailStore. */
  storeAll(): void {
    this.#store([...this.#unacked].filter((attempt) => !attempt.stored));
    this.#forgetSettled();
  }

  close(): void {
    this.#retry?.cancel();
    this.#sweep?.cancel();
    this.storeAll();
  }

  #restore(result: TaskResult): void {
    const { instance_id: id = '', attempt: number = 0 } = result;
    // A number that this process has itself is told by its own run; the other one stays in the FailStore.
    if (this.#ports.attempts.byKey(keyOf(id, number)) !== undefined) return;
    const attempt = this.#ports.attempts.note(id, number);
    attempt.result = result;
    attempt.stored = true;
    this.#unacked.add(attempt);
    this.#unackedChars += sizeOf(result);
    this.#waiting.push(attempt);
  }

  #settle(attempt: Attempt, refusal: ResultRefusal__Output | undefined): void {
    if (attempt.settled || attempt.result === undefined) return;
    if (refusal !== undefined) this.#ports.log.debug('run.late', { instanceId: attempt.instanceId, attempt: attempt.attempt, reason: refusal.reason });
    this.#unacked.delete(attempt);
    this.#unackedChars -= sizeOf(attempt.result);
    this.#ports.attempts.forget(attempt);
    if (!attempt.stored) return;
    this.#toForget.push(attempt.result);
    this.#armSweep();
  }

  #retryLater(): void {
    if (this.#retry !== undefined) return;
    this.#retry = this.#ports.clock.after(backoffMs(this.#refusedInARow++, 200, 2_000), () => {
      this.#retry = undefined;
      this.#waiting.push(...this.#deferred);
      this.#deferred = [];
      this.#ports.onWaiting();
    }, { unref: true });
  }

  #armSweep(): void {
    if (this.#sweep !== undefined) return;
    this.#sweep = this.#ports.clock.after(sweepEveryMs, () => {
      this.#sweep = undefined;
      const before = this.#ports.clock.monotonic() - storeAfterMs;
      const old: Attempt[] = [];
      let young = false;
      for (const attempt of this.#unacked) {
        if (attempt.stored) continue;
        young = attempt.finishedAt > before;
        if (young) break;
        old.push(attempt);
      }
      const failed = !this.#store(old);
      this.#forgetSettled();
      if (young || failed) this.#armSweep();
    }, { unref: true });
  }

  #store(attempts: readonly Attempt[]): boolean {
    if (attempts.length === 0) return true;
    if (!this.#ports.store.keep(attempts.flatMap(({ result }) => result ?? []))) return false;
    for (const attempt of attempts) attempt.stored = true;
    return true;
  }

  #forgetSettled(): void {
    if (this.#toForget.length === 0) return;
    this.#ports.store.forget(this.#toForget);
    this.#toForget = [];
  }
}

function isTemporary({ reason }: ResultRefusal__Output): boolean {
  return reason !== 'REFUSAL_REASON_STALE' && reason !== 'REFUSAL_REASON_UNKNOWN';
}

function sizeOf(result: TaskResult): number {
  return (result.message?.length ?? 0) + 200;
}
