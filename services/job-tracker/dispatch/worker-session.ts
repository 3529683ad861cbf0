import type { LtsError } from '../../../shared/errors/lts-error.js';
import type { AttemptRef } from '../../../shared/grpc/generated/lts/v1/AttemptRef.js';
import type { GroupMaster } from '../../../shared/grpc/generated/lts/v1/GroupMaster.js';
import type { Pong__Output } from '../../../shared/grpc/generated/lts/v1/Pong.js';
import type { ResultsAck } from '../../../shared/grpc/generated/lts/v1/ResultsAck.js';
import type { Task } from '../../../shared/grpc/generated/lts/v1/Task.js';
import type { WorkResponse } from '../../../shared/grpc/generated/lts/v1/WorkResponse.js';
import type { Raw } from '../../../shared/grpc/contract.js';
import type { StreamWriter } from '../../../shared/grpc/stream-writer.js';
import type { HeldEpoch } from '../queue/queue-store.js';
import { ClockOffset } from './clock-offset.js';

/** A task whose job is its bytes. */
export type RawTask = Omit<Raw<Task>, 'job'> & { job: Buffer };
/** A frame to a worker, with jobs as bytes. */
export type RawWorkResponse = Omit<WorkResponse, 'tasks'> & { tasks?: { tasks: RawTask[] } };

/** The stream under a session. */
export interface SessionStream {
  readonly writer: StreamWriter<RawWorkResponse>;
  /** Ends the stream; with an error the peer is told why. */
  end(error?: LtsError): void;
  /** Tasks can be started again for the session: enough of them were written. */
  room(): void;
  /** Stops or goes on reading what the worker sends. */
  read(on: boolean): void;
}

/** A frame of tasks stays below this, the last task aside. */
const frameBytes = 1024 * 1024;
/** Nothing more is started for a session while so many bytes of tasks are on their way to its stream. */
const mostHeldBytes = 16 * 1024 * 1024;
/** While so many of a worker's results, or words to it, are not settled and written, no more is read from it. */
const mostOwed = 20_000;
/** What a task takes beside its job, about. */
const taskBytes = 128;

/**
 * One Work stream of a worker: its credits and what waits to be written. Credits die with it. What is queued is
 * bounded: tasks by the credits and by bytes, acks and cancels by reading no more from a worker that does not read.
 */
export class WorkerSession {
  /** Cumulative, as the worker grants them. */
  granted = 0;
  /** Tasks that were written or wait to be. */
  sent = 0;
  /** When the worker was last heard, monotonic milliseconds. */
  heardAt: number;
  /** How long its running thread has not answered, in milliseconds. */
  blockedMs = 0;
  /** The newest time of the worker's monotonic clock that came from it; 0: it tells none. */
  workerTime = 0;
  /** That of the worker's host. */
  readonly clock = new ClockOffset();
  closed = false;
  readonly #stream: SessionStream;
  /** Starts on their way into the store for this session. */
  #reserved = 0;
  /** Bytes of tasks that wait to be written, and of those reserved. */
  #heldBytes = 0;
  /** There was no room: who waits for it is told. */
  #wasFull = false;
  /** Results that the worker has sent and whose ack is not written yet. */
  #unsettled = 0;
  #paused = false;
  #tasks: RawTask[] = [];
  #acks: { ack: ResultsAck; results: number }[] = [];
  #logAcks: number[] = [];
  #cancels: AttemptRef[] = [];

  constructor(stream: SessionStream, now: number) {
    this.#stream = stream;
    this.heardAt = now;
    stream.writer.onDrain(() => this.flush());
  }

  /** Tasks that may still be started for this session. */
  get credits(): number {
    return this.closed || this.#heldBytes >= mostHeldBytes ? 0 : this.granted - this.sent - this.#reserved;
  }

  /** A start goes into the store; `bytes`: the size of its job, or what it is likely to be. */
  reserve(bytes: number): void {
    this.#reserved++;
    this.#hold(bytes + taskBytes);
  }

  /** The start is stored, or it is not; the same `bytes`. */
  unreserve(bytes: number): void {
    this.#reserved--;
    this.#heldBytes -= bytes + taskBytes;
  }

  welcome(trackerId: string, graceMs: number, pingIntervalMs: number): void {
    this.#now({ welcome: { tracker_id: trackerId, grace: graceMs, ping_interval: pingIntervalMs } });
  }

  /** False: the worker does not read now, and was not asked. */
  owns(storeId: string, partitions: readonly HeldEpoch[], question: number): boolean {
    return this.#now({ owns: { store_id: storeId, partitions: partitions.map(({ partition, epoch }) => ({ partition, epoch })), question } });
  }

  /** Whether tasks wait to be written: the worker does not know of them yet. */
  get hasTasks(): boolean {
    return this.#tasks.length > 0;
  }

  /** @param now monotonic */
  ping(now: number): void {
    const nonce = Math.round(now);
    this.clock.asked(nonce, now);
    this.#now({ ping: { nonce } });
  }

  /** @param now monotonic */
  pong({ nonce, blocked, clock, monotonic }: Pong__Output, now: number): void {
    this.blockedMs = blocked;
    this.workerTime = monotonic;
    this.clock.answered(nonce, clock, now);
  }

  master(master: GroupMaster): void {
    this.#now({ master });
  }

  drain(owner: string): void {
    this.#now({ drain: { owner } });
  }

  task(task: RawTask): void {
    this.sent++;
    this.#hold(task.job.length + taskBytes);
    this.#tasks.push(task);
  }

  /** So many results came in one frame. */
  received(results: number): void {
    this.#unsettled += results;
  }

  /** Settles the frame that brought so many results. */
  ack(ack: ResultsAck, results: number): void {
    this.#acks.push({ ack, results });
  }

  ackLogs(sequence: number): void {
    this.#logAcks.push(sequence);
  }

  cancel(attempt: AttemptRef): void {
    this.#cancels.push(attempt);
  }

  /** Whether nothing is read from the worker now, so that its silence means nothing. */
  get paused(): boolean {
    return this.#paused;
  }

  /** Reads no more from a worker to which too much is owed. To be called after each of its frames. */
  throttle(): void {
    if (this.#paused || this.closed || !this.#owesTooMuch) return;
    this.#paused = true;
    this.#stream.read(false);
  }

  get #owesTooMuch(): boolean {
    return this.#unsettled + this.#acks.length + this.#cancels.length + this.#logAcks.length > mostOwed;
  }

  /** Writes what waits, as far as the stream takes it. */
  flush(): void {
    const { writer } = this.#stream;
    while (!this.closed && writer.ready) {
      const frame = this.#nextFrame();
      if (frame === undefined) break;
      writer.write(frame);
    }
    if (this.closed) return;
    if (this.#paused && !this.#owesTooMuch) {
      this.#paused = false;
      this.#stream.read(true);
    }
    if (this.#wasFull && this.#heldBytes < mostHeldBytes) {
      this.#wasFull = false;
      this.#stream.room();
    }
  }

  end(error?: LtsError): void {
    if (this.closed) return;
    this.closed = true;
    this.#stream.writer.close();
    this.#stream.end(error);
  }

  #hold(bytes: number): void {
    this.#heldBytes += bytes;
    if (this.#heldBytes >= mostHeldBytes) this.#wasFull = true;
  }

  /** Frames outside the queues are few and small: they are left out while the peer does not read. */
  #now(frame: RawWorkResponse): boolean {
    if (this.closed || !this.#stream.writer.ready) return false;
    this.#stream.writer.write(frame);
    return true;
  }

  #nextFrame(): RawWorkResponse | undefined {
    const settled = this.#acks.shift();
    if (settled !== undefined) {
      this.#unsettled -= settled.results;
      return { results_ack: settled.ack };
    }
    if (this.#cancels.length > 0) return { cancels: { attempts: this.#cancels.splice(0, 1_000) } };
    if (this.#tasks.length > 0) return { tasks: { tasks: this.#takeTasks() } };
    const sequence = this.#logAcks.shift();
    return sequence === undefined ? undefined : { logs_ack: { sequence } };
  }

  #takeTasks(): RawTask[] {
    let bytes = 0;
    let count = 0;
    while (count < this.#tasks.length && bytes < frameBytes) bytes += (this.#tasks[count++] as RawTask).job.length + taskBytes;
    this.#heldBytes -= bytes;
    if (count < this.#tasks.length) return this.#tasks.splice(0, count);
    const all = this.#tasks;
    this.#tasks = [];
    return all;
  }
}
