import { type ServerDuplexStream, status, type UntypedHandleCall } from '@grpc/grpc-js';
import { LtsError, toLtsError } from '../../../shared/errors/lts-error.js';
import { reasons } from '../../../shared/errors/reasons.js';
import { quoted } from '../../../shared/errors/quoted.js';
import type { Hello__Output } from '../../../shared/grpc/generated/lts/v1/Hello.js';
import type { WorkRequest__Output } from '../../../shared/grpc/generated/lts/v1/WorkRequest.js';
import { failStream, type Handlers } from '../../../shared/grpc/handlers.js';
import { helloWithinMs } from '../../../shared/grpc/options.js';
import { StreamWriter } from '../../../shared/grpc/stream-writer.js';
import { isId } from '../../../shared/ids.js';
import { groupForm } from '../../../shared/job/check-job.js';
import type { Logger } from '../../../shared/log/logger.js';
import type { Clock, Timer } from '../../../shared/time/clock.js';
import type { LogIntake } from '../complete/take-logs.js';
import type { ResultIntake } from '../complete/take-results.js';
import type { Worker } from '../dispatch/worker.js';
import type { WorkerDirectory } from '../dispatch/worker-directory.js';
import { type RawWorkResponse, WorkerSession } from '../dispatch/worker-session.js';
import type { Ownership } from '../lead/ownership.js';
import { Repeats } from '../lead/repeats.js';
import type { OwnedGroups } from '../queue/owned-groups.js';

/** What worker sessions lead to. */
export interface WorkerParts {
  directory: WorkerDirectory;
  results: ResultIntake;
  logs: LogIntake;
  groups: OwnedGroups;
  ownership: Ownership;
  clock: Clock;
  log: Logger;
}

type WorkCall = ServerDuplexStream<WorkRequest__Output, RawWorkResponse>;

const inventoryChunk = 1_000;
const resultsChunk = 10_000;
const longestType = 128;

/** WorkerService: one session per stream. A frame that breaks the protocol cuts the stream off with a reason. */
export function workerService(handlers: Handlers, parts: WorkerParts): Record<string, UntypedHandleCall> {
  const refusals = new Repeats(parts.clock);
  return { Work: handlers.duplex<WorkRequest__Output, RawWorkResponse>((call: WorkCall) => new WorkStream(call, parts, refusals)) as unknown as UntypedHandleCall };
}

class WorkStream {
  readonly #call: WorkCall;
  readonly #parts: WorkerParts;
  readonly #session: WorkerSession;
  #worker: Worker | undefined;
  #graceful = false;
  readonly #helloTimer: Timer;
  readonly #refusals: Repeats;
  /** Of the process that calls, once it has said hello. */
  #incarnation = '';

  constructor(call: WorkCall, parts: WorkerParts, refusals: Repeats) {
    this.#call = call;
    this.#refusals = refusals;
    this.#parts = parts;
    const writer = new StreamWriter<RawWorkResponse>(call, { onStall: (error) => this.#session.end(error), clock: parts.clock });
    const end = (error?: LtsError): void => (error === undefined ? void call.end() : failStream(call as never, error, parts.log));
    const room = (): void => {
      if (this.#worker !== undefined) parts.directory.room(this.#worker);
    };
    const read = (on: boolean): void => {
      this.#session.heardAt = parts.clock.monotonic();
      if (on) call.resume();
      else call.pause();
    };
    this.#session = new WorkerSession({ writer, end, room, read }, parts.clock.monotonic());
    this.#helloTimer = parts.clock.after(helloWithinMs, () => this.#session.end(badFrame(`no hello came within ${helloWithinMs} ms`)), { unref: true });
    call.on('data', (frame: WorkRequest__Output) => this.#guard(frame));
    // A half-close is no graceful leave: it also comes before a cancellation.
    call.on('end', () => this.#closed());
    call.on('cancelled', () => this.#closed());
    call.on('error', () => this.#closed());
    call.on('close', () => this.#closed());
  }

  #guard(frame: WorkRequest__Output): void {
    if (this.#session.closed) return;
    try {
      this.#session.heardAt = this.#parts.clock.monotonic();
      this.#take(frame);
      this.#session.throttle();
    } catch (error) {
      this.#refuse(toLtsError(error));
      this.#session.end(error as LtsError);
      this.#closed();
    }
  }

  #refuse(error: LtsError): void {
    const fields = { worker: this.#worker?.identity.nodeId, address: this.#call.getPeer(), reason: error.reason, why: error.message };
    // Workers that look for their owner are no fault, and ask often.
    if (reasons[error.reason].code === status.UNAVAILABLE) this.#parts.log[this.#refusals.isNews(`${this.#incarnation} ${error.reason}`) ? 'info' : 'debug']('worker.refused', fields);
    else this.#parts.log.warn('worker.refused', error.reason === 'INTERNAL' ? { ...fields, error: error.cause } : fields);
  }

  #take(frame: WorkRequest__Output): void {
    const worker = this.#worker;
    if (frame.frame === 'hello' && frame.hello) return this.#hello(frame.hello);
    if (worker === undefined) throw badFrame(`the first frame is ${frame.frame ?? 'empty'}; it has to be hello`);
    const { directory, results, logs } = this.#parts;
    switch (frame.frame) {
      case 'inventory': {
        const { held, end, question, master_token } = frame.inventory as NonNullable<typeof frame.inventory>;
        if (held.length > inventoryChunk) throw badFrame(`inventory holds ${held.length} attempts; send at most ${inventoryChunk} in one frame`);
        return directory.inventory(worker, held, end, question, master_token);
      }
      case 'slots': {
        const { granted } = frame.slots as NonNullable<typeof frame.slots>;
        if (!Number.isSafeInteger(granted) || granted < 0) throw badFrame(`slots.granted is ${granted}; use a count that only grows`);
        return directory.slots(worker, granted);
      }
      case 'results': {
        const taken = frame.results as NonNullable<typeof frame.results>;
        if (taken.results.length > resultsChunk) throw badFrame(`results holds ${taken.results.length} results; send at most ${resultsChunk} in one frame`);
        if (taken.predecessors.length + taken.ended.length > resultsChunk) throw badFrame(`results names ${taken.predecessors.length + taken.ended.length} incarnations; name at most ${resultsChunk}`);
        return results.take(worker, this.#session, taken);
      }
      case 'progress':
        return this.#progress(worker, (frame.progress as NonNullable<typeof frame.progress>).entries);
      case 'logs':
        return logs.take(this.#session, frame.logs as NonNullable<typeof frame.logs>);
      case 'pong':
        return directory.clocks.pong(worker, this.#session, frame.pong as NonNullable<typeof frame.pong>);
      case 'goodbye':
        this.#graceful = true;
        this.#session.end();
        return this.#closed();
      default:
        throw badFrame('the frame is empty, unreadable or of a kind that this tracker does not know');
    }
  }

  #hello(hello: Hello__Output): void {
    if (this.#worker !== undefined) throw badFrame('hello was sent twice on one stream');
    if (hello.node_id === '' || hello.node_id.length > 128 || hello.node_id.includes('\0')) throw badFrame(`hello.node_id is ${quoted(hello.node_id)}; use 1 to 128 characters without NUL`);
    if (!isId(hello.incarnation)) throw badFrame(`hello.incarnation is ${quoted(hello.incarnation)}; use a fresh UUIDv7 per process start`);
    if (!groupForm.test(hello.node_group)) throw badFrame(`hello.node_group is ${quoted(hello.node_group)}; use 1 to 64 of A-Z a-z 0-9 . _ : -`);
    if (hello.types.length > 1_000 || hello.predecessors.length > 1_000) throw badFrame('hello names more than 1,000 types or predecessors');
    const longType = hello.types.find((type) => type.length > longestType);
    if (longType !== undefined) throw badFrame(`hello.types has ${quoted(longType)}; use at most ${longestType} characters`);
    if (hello.work_threads < 0) throw badFrame(`hello.work_threads is ${hello.work_threads}; use how many tasks run at once`);
    this.#incarnation = hello.incarnation;
    this.#parts.ownership.require(hello.node_group);
    this.#helloTimer.cancel();
    this.#worker = this.#parts.directory.open(hello, this.#call.getPeer(), this.#session);
  }

  #progress(worker: Worker, entries: readonly { instance_id: string; attempt: number; progress: number | string; text: string }[]): void {
    for (const { instance_id, attempt, progress, text } of entries) {
      const execution = this.#parts.groups.executions.get(instance_id);
      if (execution === undefined || execution.attempt !== attempt || !worker.executions.has(execution)) continue;
      execution.progress = Math.min(Math.max(Number(progress) || 0, 0), 1);
      execution.progressText = text.slice(0, 1_024);
    }
  }

  #closed(): void {
    this.#helloTimer.cancel();
    const worker = this.#worker;
    this.#worker = undefined;
    if (worker !== undefined) this.#parts.directory.closed(worker, this.#session, this.#graceful);
    if (!this.#session.closed) this.#session.end();
  }
}

function badFrame(message: string): LtsError {
  return new LtsError('BAD_FRAME', message);
}
