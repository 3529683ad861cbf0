import type { ClientDuplexStream } from '@grpc/grpc-js';
import { messageOf } from '../../../shared/errors/lts-error.js';
import type { FeedbackFailure } from '../../../shared/grpc/generated/lts/v1/FeedbackFailure.js';
import type { FeedbackHello } from '../../../shared/grpc/generated/lts/v1/FeedbackHello.js';
import type { GroupMaster__Output } from '../../../shared/grpc/generated/lts/v1/GroupMaster.js';
import type { JobResult__Output } from '../../../shared/grpc/generated/lts/v1/JobResult.js';
import type { WatchFeedbackRequest } from '../../../shared/grpc/generated/lts/v1/WatchFeedbackRequest.js';
import type { WatchFeedbackResponse__Output } from '../../../shared/grpc/generated/lts/v1/WatchFeedbackResponse.js';
import { StreamWriter } from '../../../shared/grpc/stream-writer.js';
import type { Logger } from '../../../shared/log/logger.js';
import { backoffMs } from '../../../shared/time/backoff.js';
import type { Clock, Timer } from '../../../shared/time/clock.js';
import { toCallError } from '../discover/journey.js';
import type { TrackerClients } from '../discover/tracker-clients.js';

/** Acks gather for so long, or until there are so many. */
const gatherMs = 1;
const ackIds = 500;
/** Longest wait for the first frame of a tracker. */
const helloTimeoutMs = 3_000;
/** A tracker that is left may take so long to store the last acks. */
const leaveTimeoutMs = 3_000;
/** A stream that lasted so long was a good one. */
const steadyMs = 5_000;
/** Handler errors are cut to so many characters. */
const messageChars = 1_024;

/** What the stream to one tracker needs. */
export interface FeedbackStreamParts {
  clients: TrackerClients;
  clock: Clock;
  log: Logger;
  /** Its `master_token`: what the receiver was before it came here. */
  hello: FeedbackHello;
  /** Results of one frame; each is later acked or failed on the stream that it came from. */
  onResults: (from: FeedbackStream, results: readonly JobResult__Output[]) => void;
  /** Who the master of the group is, by this tracker. */
  onMaster: (master: GroupMaster__Output) => void;
  /** The token under which this receiver takes itself for the master now; 0: it does not. */
  masterToken: () => number;
  /** The time of this receiver, which GroupMaster brings back; 0: it has none. */
  clientTime: () => number;
  /** The tracker knows the receiver. */
  onOpen?: () => void;
}

interface Open {
  call: ClientDuplexStream<WatchFeedbackRequest, WatchFeedbackResponse__Output>;
  writer: StreamWriter<WatchFeedbackRequest>;
  timer: Timer;
}

/** The receiver at one tracker: connected again after every loss, until it is closed. */
export class FeedbackStream {
  readonly address: string;
  readonly #parts: FeedbackStreamParts;
  readonly #clock: Clock;
  #open: Open | undefined;
  #known = false;
  #retry: Timer | undefined;
  #tries = 0;
  #openedAt = 0;
  #closed = false;
  #acked: string[] = [];
  #failures: FeedbackFailure[] = [];
  #flush: Timer | undefined;
  /** Called when the tracker has ended the stream that is being left. */
  #onLeft: () => void = () => undefined;

  constructor(address: string, parts: FeedbackStreamParts) {
    this.address = address;
    this.#parts = parts;
    this.#clock = parts.clock;
    this.#connect();
  }

  /** The result was taken. Lost with the stream: the tracker then sends the result again. */
  ack(feedbackId: string): void {
    if (this.#closed) return;
    this.#acked.push(feedbackId);
    this.#flushSoon();
  }

  /** The handler failed. */
  fail(feedbackId: string, message: string): void {
    if (this.#closed) return;
    this.#failures.push({ feedback_id: feedbackId, message: message.slice(0, messageChars) });
    this.#flushSoon();
  }

  /** The world has changed: no need to wait longer. */
  hurry(): void {
    this.#tries = 0;
    if (this.#retry !== undefined) this.#connect();
  }

  /** Sends what is acked and leaves. Resolves when the tracker has stored it, when the stream is lost, or after 3 s. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#retry?.cancel();
    const open = this.#open;
    if (open === undefined) return;
    // A tracker that has not said hello has sent nothing to ack.
    if (!this.#known) return this.#lost(open, new Error('closed'));
    const left = new Promise<void>((resolve) => {
      this.#onLeft = resolve;
    });
    open.timer = this.#clock.after(leaveTimeoutMs, () => this.#lost(open, new Error(`not ended within ${leaveTimeoutMs} ms`)));
    this.#write();
    await left;
  }

  #connect(): void {
    this.#retry?.cancel();
    this.#retry = undefined;
    if (this.#closed || this.#open !== undefined) return;
    const { clients, hello, onResults, masterToken, clientTime } = this.#parts;
    const call = clients.at(this.address).feedback.watchFeedback();
    const writer = new StreamWriter<WatchFeedbackRequest>(call, { clock: this.#clock, onStall: (error) => this.#lost(open, error) });
    const timer = this.#clock.after(helloTimeoutMs, () => this.#lost(open, new Error(`no answer within ${helloTimeoutMs} ms`)), { unref: true });
    const open: Open = { call, writer, timer };
    this.#open = open;
    writer.onDrain(() => this.#write());
    call.on('data', ({ results, master }: WatchFeedbackResponse__Output) => {
      if (this.#open !== open || this.#closed) return;
      if (!this.#known) this.#established(open);
      if (master) this.#takeMaster(open, master);
      if (results.length > 0) onResults(this, results);
    });
    call.on('error', (error) => this.#lost(open, error));
    call.on('end', () => this.#lost(open, new Error('the tracker ended the stream')));
    writer.write({ hello: { ...hello, master_token: masterToken() || (hello.master_token ?? 0), monotonic: clientTime() } });
  }

  #takeMaster({ writer }: Open, master: GroupMaster__Output): void {
    const { onMaster, masterToken, clientTime } = this.#parts;
    if (master.heard > 0 && writer.ready) writer.write({ alive: { monotonic: clientTime(), master_token: masterToken() } });
    onMaster(master);
  }

  #established(open: Open): void {
    open.timer.cancel();
    this.#known = true;
    this.#openedAt = this.#clock.monotonic();
    this.#parts.log.info('stream.connected', { stream: 'WatchFeedback', address: this.address });
    this.#parts.onOpen?.();
  }

  #lost(open: Open, error: unknown): void {
    if (this.#open !== open) return;
    this.#open = undefined;
    open.timer.cancel();
    open.writer.close();
    open.call.cancel();
    this.#acked = [];
    this.#failures = [];
    if (this.#closed) return this.#onLeft();
    // A stream that breaks as soon as it is open does not begin the back-off anew.
    if (this.#known && this.#clock.monotonic() - this.#openedAt > steadyMs) this.#tries = 0;
    const notOwner = toCallError(error, this.address).reason === 'NOT_OWNER';
    if (this.#known) this.#parts.log.warn('stream.lost', { stream: 'WatchFeedback', address: this.address, why: messageOf(error) });
    this.#known = false;
    this.#retry = this.#clock.after(notOwner ? backoffMs(this.#tries++, 1_000, 5_000) : backoffMs(this.#tries++, 100, 2_000), () => this.#connect(), { unref: true });
  }

  #flushSoon(): void {
    if (this.#acked.length + this.#failures.length >= ackIds) this.#write();
    else this.#flush ??= this.#clock.after(gatherMs, () => this.#write());
  }

  #write(): void {
    this.#flush?.cancel();
    this.#flush = undefined;
    while (this.#open?.writer.ready === true && this.#acked.length + this.#failures.length > 0) {
      this.#open.writer.write({ ack: { feedback_ids: this.#acked.splice(0, ackIds), failures: this.#failures.splice(0, ackIds) } });
    }
    if (this.#closed && this.#acked.length + this.#failures.length === 0) this.#open?.call.end();
  }
}
