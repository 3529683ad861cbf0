import type { ServerDuplexStream, UntypedHandleCall } from '@grpc/grpc-js';
import { LtsError } from '../../../shared/errors/lts-error.js';
import type { FeedbackHello__Output } from '../../../shared/grpc/generated/lts/v1/FeedbackHello.js';
import type { GroupMaster__Output } from '../../../shared/grpc/generated/lts/v1/GroupMaster.js';
import type { JobResult__Output } from '../../../shared/grpc/generated/lts/v1/JobResult.js';
import type { WatchFeedbackRequest__Output } from '../../../shared/grpc/generated/lts/v1/WatchFeedbackRequest.js';
import type { WatchFeedbackResponse } from '../../../shared/grpc/generated/lts/v1/WatchFeedbackResponse.js';
import { failStream, type Handlers } from '../../../shared/grpc/handlers.js';
import { StreamWriter } from '../../../shared/grpc/stream-writer.js';
import { MasterLease } from '../../../shared/master/master-lease.js';
import type { Logger } from '../../../shared/log/logger.js';
import type { CallParts } from '../discover/call-owner.js';
import type { FeedbackStream } from '../results/feedback-stream.js';
import { FeedbackStreams } from '../results/feedback-streams.js';
import { groupForm } from '../../../shared/job/check-job.js';

type Call = ServerDuplexStream<WatchFeedbackRequest__Output, WatchFeedbackResponse>;

const frameResults = 200;
const frameBytes = 512 * 1024;
/** Times of an application that are remembered: it tells several within a lease. */
const mostTimes = 20;

/** The open receivers, so that a leaving gateway can end them. */
export class FeedbackRelays {
  readonly #parts: CallParts;
  readonly #log: Logger;
  readonly #open = new Set<FeedbackRelay>();
  #closed = false;

  constructor(parts: CallParts, log: Logger) {
    this.#parts = parts;
    this.#log = log;
  }

  /** FeedbackService: each receiver of an application becomes one at every tracker. */
  service(handlers: Handlers): Record<string, UntypedHandleCall> {
    return {
      WatchFeedback: handlers.duplex<WatchFeedbackRequest__Output, WatchFeedbackResponse>((call) => {
        if (this.#closed) throw new LtsError('DRAINING', 'this gateway is leaving; connect to another one');
        const relay = new FeedbackRelay(call, this.#parts, this.#log, () => this.#open.delete(relay));
        this.#open.add(relay);
      }) as UntypedHandleCall,
    };
  }

  /** Tells all receivers to connect elsewhere. */
  closeAll(): void {
    this.#closed = true;
    for (const relay of this.#open) relay.fail(new LtsError('DRAINING', 'this gateway is leaving; connect to another one'));
  }
}

/** One receiver of an application. What it does not ack is not acked to the tracker either, which sends it again. */
class FeedbackRelay {
  readonly #call: Call;
  readonly #parts: CallParts;
  readonly #log: Logger;
  readonly #onClose: () => void;
  readonly #writer: StreamWriter<WatchFeedbackResponse>;
  /** By feedback id: the tracker that brought it last. In the order of arrival: the first ones are out. */
  readonly #held = new Map<string, FeedbackStream>();
  readonly #queue: JobResult__Output[] = [];
  #out = new Set<string>();
  #max = 100;
  #streams: FeedbackStreams | undefined;
  readonly #master: MasterLease;
  /** What the application told of its clock, the newest last, and when that came here. */
  #times: { told: number; at: number }[] = [];
  #known = false;
  #closed = false;

  constructor(call: Call, parts: CallParts, log: Logger, onClose: () => void) {
    this.#call = call;
    this.#parts = parts;
    this.#log = log;
    this.#onClose = onClose;
    this.#master = new MasterLease(parts.clock, () => undefined);
    this.#writer = new StreamWriter<WatchFeedbackResponse>(call, { clock: parts.clock, onStall: (error) => this.fail(error) });
    this.#writer.onDrain(() => this.#send());
    call.on('data', (frame: WatchFeedbackRequest__Output) => this.#onFrame(frame));
    call.on('error', () => void this.#close());
    call.on('cancelled', () => void this.#close());
    call.on('end', () => void this.#close().then(() => call.end()));
  }

  /** Ends the stream with an error. */
  fail(error: unknown): void {
    if (this.#closed) return;
    void this.#close();
    failStream(this.#call as unknown as ServerDuplexStream<never, never>, error, this.#log);
  }

  #onFrame({ frame, hello, ack, alive }: WatchFeedbackRequest__Output): void {
    if (this.#closed) return;
    try {
      if (frame === 'hello' && hello && this.#streams === undefined) return this.#start(hello);
      if (frame === 'ack' && ack && this.#streams !== undefined) return this.#settle(ack.feedback_ids, ack.failures);
      if (frame === 'alive' && alive && this.#streams !== undefined) return this.#noteTime(alive.monotonic);
      throw new LtsError('BAD_FRAME', this.#streams === undefined ? 'the first frame must be hello' : `a frame with ${frame ?? 'nothing'} in it; send ack frames after the hello`);
    } catch (error) {
      this.fail(error);
    }
  }

  #start(hello: FeedbackHello__Output): void {
    const { submit_node_group: group, client_id: clientId, max_in_flight: max, master_token: claim, monotonic } = hello;
    if (!groupForm.test(group)) throw new LtsError('INVALID_ARGUMENT', `submit_node_group is ${JSON.stringify(group.slice(0, 100))}; give 1 to 64 of the characters A-Z a-z 0-9 . _ : -`);
    if (clientId.length > 128) throw new LtsError('INVALID_ARGUMENT', `client_id has ${clientId.length} characters; give at most 128`);
    if (max < 0 || max > 10_000) throw new LtsError('INVALID_ARGUMENT', `max_in_flight is ${max}; give 1 to 10,000, or 0 for 100`);
    this.#max = max === 0 ? 100 : max;
    this.#noteTime(monotonic);
    this.#log.info('client.online', { group, clientId });
    this.#streams = new FeedbackStreams({
      ...this.#parts,
      log: this.#log,
      hello: { submit_node_group: group, client_id: clientId, max_in_flight: this.#max, master_token: claim },
      onResults: (from, results) => this.#take(from, results),
      onMaster: (master) => this.#passOn(master),
      masterToken: () => this.#master.token,
      clientTime: () => this.#times.at(-1)?.told ?? 0,
      onOpen: () => this.#sayKnown(),
    });
  }

  /** The application is the member of the group; what it takes itself for is remembered for other trackers. */
  #passOn(master: GroupMaster__Output): void {
    if (this.#closed || !this.#writer.ready) return;
    const heard = this.#timeHere(master.heard);
    if (heard !== undefined) this.#master.heard({ ...master, heard });
    this.#writer.write({ results: [], master });
  }

  #noteTime(told: number): void {
    if (told > 0) this.#times = [...this.#times.slice(1 - mostTimes), { told, at: this.#master.time }];
  }

  /** When this time of the application came here, by the clock of this process; 0: it tells none; undefined: long ago. */
  #timeHere(heard: number): number | undefined {
    return heard === 0 ? 0 : this.#times.find(({ told }) => told === heard)?.at;
  }

  #sayKnown(): void {
    if (this.#known || !this.#writer.ready) return;
    this.#known = true;
    this.#writer.write({ results: [] });
  }

  #take(from: FeedbackStream, results: readonly JobResult__Output[]): void {
    for (const result of results) {
      // A repeat of what is out already: the application has it, only its ack goes elsewhere.
      if (!this.#held.has(result.feedback_id)) this.#queue.push(result);
      this.#held.set(result.feedback_id, from);
    }
    this.#send();
  }

  #send(): void {
    while (!this.#closed && this.#writer.ready && this.#queue.length > 0 && this.#out.size < this.#max) {
      const results: JobResult__Output[] = [];
      let bytes = 0;
      while (results.length < frameResults && bytes < frameBytes && this.#out.size < this.#max) {
        const result = this.#queue.shift();
        if (result === undefined) break;
        bytes += result.message.length + 300;
        this.#out.add(result.feedback_id);
        results.push(result);
      }
      this.#known = true;
      this.#writer.write({ results });
    }
  }

  #settle(acked: readonly string[], failures: readonly { feedback_id: string; message: string }[]): void {
    for (const id of acked) this.#release(id)?.ack(id);
    for (const { feedback_id: id, message } of failures) this.#release(id)?.fail(id, message);
    this.#send();
  }

  #release(id: string): FeedbackStream | undefined {
    if (!this.#out.delete(id)) return undefined;
    const from = this.#held.get(id);
    this.#held.delete(id);
    return from;
  }

  /** Resolves when the trackers have stored what the application acked. */
  async #close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#writer.close();
    this.#master.close();
    this.#onClose();
    await this.#streams?.close();
  }
}
