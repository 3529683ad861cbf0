import type { ClientDuplexStream, ServiceError, StatusObject } from '@grpc/grpc-js';
import type { Task__Output } from '../../../shared/grpc/generated/lts/v1/Task.js';
import type { WorkRequest } from '../../../shared/grpc/generated/lts/v1/WorkRequest.js';
import type { WorkResponse__Output } from '../../../shared/grpc/generated/lts/v1/WorkResponse.js';
import { newId } from '../../../shared/ids.js';
import { eventually } from '../../kit/eventually.js';
import { type Caller, toldOf } from '../caller.js';

type Kind = NonNullable<WorkResponse__Output['frame']>;

/** How a stream ended. */
export interface StreamEnd {
  code: number;
  reason: string | undefined;
  details: string;
}

/** A Work stream on which anything can be sent. It answers nothing by itself but pings. */
export class WorkStream {
  readonly nodeId: string;
  readonly incarnation: string;
  readonly group: string;
  readonly received: WorkResponse__Output[] = [];
  readonly #call: ClientDuplexStream<object | Buffer, WorkResponse__Output>;
  #end: StreamEnd | undefined;
  #sequence = 0;

  constructor(caller: Caller, { group = 'rubbish', nodeId = 'rubbish', incarnation = newId(), reads = true } = {}) {
    this.group = group;
    this.nodeId = nodeId;
    this.incarnation = incarnation;
    this.#call = caller.open<WorkResponse__Output>('WorkerService/Work');
    this.#call.on('error', (error: ServiceError) => (this.#end = toldOf(error)));
    this.#call.on('status', (status: StatusObject) => {
      if (status.code === 0) this.#end = { code: 0, reason: undefined, details: '' };
    });
    if (reads) this.read();
  }

  /** Begins to take what the tracker sends. */
  read(): void {
    this.#call.on('data', (frame: WorkResponse__Output) => {
      this.received.push(frame);
      if (frame.ping) this.send({ pong: { nonce: frame.ping.nonce } });
    });
  }

  /** How it ended; undefined while it is open. */
  get end(): StreamEnd | undefined {
    return this.#end;
  }

  /** Whether the transport takes more. */
  send(frame: WorkRequest | Buffer): boolean {
    return this.#end === undefined && this.#call.write(frame);
  }

  get hello(): WorkRequest {
    return { hello: { node_id: this.nodeId, incarnation: this.incarnation, node_group: this.group, work_threads: 1 } };
  }

  /** Hello and an empty Inventory: from here on it is a worker. */
  async join(slots = 0): Promise<this> {
    this.send(this.hello);
    await this.until('owns');
    this.send({ inventory: { end: true } });
    if (slots > 0) this.send({ slots: { granted: slots } });
    return this;
  }

  async until<K extends Kind>(kind: K): Promise<NonNullable<WorkResponse__Output[K]>> {
    const found = await eventually(() => this.received.find((frame) => frame.frame === kind) ?? (this.#end && { frame: 'end' as const }), { everyMs: 3, what: `a frame ${kind}` });
    if (found.frame === 'end') throw new Error(`the stream ended: ${JSON.stringify(this.#end)}`);
    return (found as WorkResponse__Output)[kind] as NonNullable<WorkResponse__Output[K]>;
  }

  /** The tasks that it was given so far. */
  get tasks(): Task__Output[] {
    return this.received.flatMap((frame) => frame.tasks?.tasks ?? []);
  }

  /** Waits for a task. */
  task(): Promise<Task__Output> {
    return eventually(() => this.tasks[0], { everyMs: 3, what: 'a task' });
  }

  /** Sends results and waits for their ack; gives the reasons of the refusals. */
  async report(...results: object[]): Promise<string[]> {
    const sequence = ++this.#sequence;
    this.send({ results: { sequence, results } });
    return this.#acked(sequence);
  }

  async #acked(sequence: number): Promise<string[]> {
    const ack = await eventually(() => this.received.find((frame) => frame.results_ack?.sequence === sequence), { everyMs: 3, what: `the ack of frame ${sequence}` });
    return (ack.results_ack?.refusals ?? []).map((refusal) => refusal.reason);
  }

  /** Undefined when the tracker still serves the stream, or how it ended. */
  async stillServed(): Promise<StreamEnd | undefined> {
    const sequence = ++this.#sequence;
    this.send({ results: { sequence } });
    await eventually(() => this.#end ?? this.received.find((frame) => frame.results_ack?.sequence === sequence), { everyMs: 3, what: 'an answer or an end' });
    return this.#end;
  }

  /** Waits until the tracker has ended it. */
  ended(withinMs = 10_000): Promise<StreamEnd> {
    return eventually(() => this.#end, { withinMs, everyMs: 3, what: 'the end of the stream' });
  }

  /** Leaves without a Goodbye. */
  cancel(): void {
    this.#call.cancel();
  }

  async goodbye(): Promise<void> {
    this.send({ goodbye: {} });
    await this.ended();
  }
}
