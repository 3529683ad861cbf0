import { fromGrpcError } from '../../../shared/errors/grpc-status.js';
import { LtsError } from '../../../shared/errors/lts-error.js';
import type { Cancels__Output } from '../../../shared/grpc/generated/lts/v1/Cancels.js';
import type { GroupMaster__Output } from '../../../shared/grpc/generated/lts/v1/GroupMaster.js';
import type { Hello } from '../../../shared/grpc/generated/lts/v1/Hello.js';
import type { LogsAck__Output } from '../../../shared/grpc/generated/lts/v1/LogsAck.js';
import type { Owns__Output } from '../../../shared/grpc/generated/lts/v1/Owns.js';
import type { Pong } from '../../../shared/grpc/generated/lts/v1/Pong.js';
import type { ResultsAck__Output } from '../../../shared/grpc/generated/lts/v1/ResultsAck.js';
import type { Task__Output } from '../../../shared/grpc/generated/lts/v1/Task.js';
import type { Welcome__Output } from '../../../shared/grpc/generated/lts/v1/Welcome.js';
import type { WorkRequest } from '../../../shared/grpc/generated/lts/v1/WorkRequest.js';
import type { WorkResponse__Output } from '../../../shared/grpc/generated/lts/v1/WorkResponse.js';
import type { Raw } from '../../../shared/grpc/contract.js';
import { StreamWriter } from '../../../shared/grpc/stream-writer.js';
import type { Clock, Timer } from '../../../shared/time/clock.js';
import { StreamCredits } from './credits.js';
import type { WorkCall } from './work-call.js';

/** Longest wait for Welcome, in milliseconds. */
const welcomeWithinMs = 10_000;

/** A task whose job is bytes. */
export type RawTask = Raw<Task__Output>;

/** Whom a session works for. All frames but Ping come to it; it says what is to be sent. */
export interface SessionHost {
  hello(): Hello;
  onWelcome(session: WorkSession, welcome: Welcome__Output): void;
  onOwns(session: WorkSession, owns: Owns__Output): void;
  onTasks(session: WorkSession, tasks: readonly RawTask[]): void;
  onResultsAck(session: WorkSession, ack: ResultsAck__Output): void;
  onLogsAck(session: WorkSession, ack: LogsAck__Output): void;
  onCancels(session: WorkSession, cancels: Cancels__Output): void;
  onDrain(session: WorkSession, owner: string): void;
  onMaster(master: GroupMaster__Output): void;
  /** Once, whoever closed it. */
  onClosed(session: WorkSession, error: LtsError): void;
  pong(): Omit<Pong, 'nonce'>;
  /** The most urgent frame that this session may send now. */
  nextFrame(session: WorkSession): WorkRequest | undefined;
}

/**
 * One Work stream.
 *
 * States: connecting (Hello is written) → welcomed → owned (each Owns was answered by an Inventory) → closed. A session
 * that is `retired` takes no more tasks; it stays open for acks until its successor is owned.
 */
export class WorkSession {
  readonly address: string;
  readonly credits = new StreamCredits();
  /** Identity of the tracker's store; empty before Owns. */
  storeId = '';
  /** It was told what this worker has. */
  owned = false;
  retired = false;
  /** Its tracker is about to go. */
  drained = false;
  closed = false;
  readonly #host: SessionHost;
  readonly #clock: Clock;
  readonly #call: WorkCall;
  readonly #writer: StreamWriter<WorkRequest>;
  /** Hello, and the chunks of the newest Inventory. */
  #first: WorkRequest[];
  #pongNonce: number | undefined;
  #heardAt: number;
  #silenceMs = welcomeWithinMs;
  #watch: Timer;

  constructor(address: string, open: (address: string) => WorkCall, host: SessionHost, clock: Clock) {
    this.address = address;
    this.#host = host;
    this.#clock = clock;
    this.#call = open(address);
    const { stream } = this.#call;
    this.#writer = new StreamWriter(stream, { clock, onStall: (error) => this.close(error) });
    this.#writer.onDrain(() => this.pump());
    stream.on('data', (frame: WorkResponse__Output) => this.#take(frame));
    stream.on('error', (error) => this.close(fromGrpcError(error)));
    stream.on('status', () => this.close(new LtsError('NO_TRACKER', 'the tracker ended the stream')));
    this.#heardAt = clock.monotonic();
    this.#watch = this.#watchSilence();
    this.#first = [{ hello: host.hello() }];
    this.pump();
  }

  /** Sends these before anything else, in place of those that were not sent yet. */
  sendInventory(chunks: WorkRequest[]): void {
    this.#first = chunks;
    this.owned = true;
  }

  /** Writes what there is to say while the peer reads. */
  pump(): void {
    while (this.#writer.ready) {
      const frame = this.#next();
      if (frame === undefined) return;
      this.#writer.write(frame);
    }
  }

  /** Says goodbye and half-closes; the tracker ends the stream. */
  leave(): void {
    if (this.closed || !this.#writer.ready) return;
    this.#writer.write({ goodbye: {} });
    this.#writer.close();
    this.#call.stream.end();
  }

  close(error: LtsError): void {
    if (this.closed) return;
    this.closed = true;
    this.#watch.cancel();
    this.#writer.close();
    this.#call.close();
    this.#host.onClosed(this, error);
  }

  #next(): WorkRequest | undefined {
    const first = this.#first.shift();
    if (first !== undefined) return first;
    if (this.#pongNonce !== undefined) {
      const pong = { nonce: this.#pongNonce, ...this.#host.pong() };
      this.#pongNonce = undefined;
      return { pong };
    }
    return this.owned ? this.#host.nextFrame(this) : undefined;
  }

  #take(frame: WorkResponse__Output): void {
    if (this.closed) return;
    this.#heardAt = this.#clock.monotonic();
    this.#dispatch(frame);
    this.pump();
  }

  #dispatch(frame: WorkResponse__Output): void {
    const host = this.#host;
    if (frame.tasks) return host.onTasks(this, frame.tasks.tasks as unknown as RawTask[]);
    if (frame.results_ack) return host.onResultsAck(this, frame.results_ack);
    if (frame.ping) this.#pongNonce = frame.ping.nonce;
    else if (frame.logs_ack) host.onLogsAck(this, frame.logs_ack);
    else if (frame.cancels) host.onCancels(this, frame.cancels);
    else if (frame.owns) host.onOwns(this, frame.owns);
    else if (frame.master) this.#takeMaster(frame.master);
    else if (frame.drain) host.onDrain(this, frame.drain.owner);
    else if (frame.welcome) {
      this.#silenceMs = Math.max(frame.welcome.ping_interval * 3, 1_000);
      this.#watch.cancel();
      this.#watch = this.#watchSilence();
      host.onWelcome(this, frame.welcome);
    }
  }

  /** A tracker that brings times of this worker back gets a new one for the next lease. */
  #takeMaster(master: GroupMaster__Output): void {
    if (master.self && master.heard > 0) this.#pongNonce ??= 0;
    this.#host.onMaster(master);
  }

  /** A peer that says nothing for too long is given up, whatever its connection looks like. */
  #watchSilence(): Timer {
    const waitMs = this.#silenceMs - (this.#clock.monotonic() - this.#heardAt);
    if (waitMs <= 0) {
      this.close(new LtsError('DEADLINE_PASSED', `the tracker said nothing for ${this.#silenceMs} ms`));
      return { cancel: () => undefined };
    }
    return this.#clock.after(waitMs, () => (this.#watch = this.#watchSilence()), { unref: true });
  }
}
