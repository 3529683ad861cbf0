import { EventEmitter } from 'node:events';
import { Metadata, type MethodDefinition, status, type StatusObject } from '@grpc/grpc-js';

/** What travels to the server. */
export type ToServer = { kind: 'data'; bytes: Buffer } | { kind: 'end' } | { kind: 'reset' };
/** What travels to the client. */
export type ToClient = { kind: 'data'; bytes: Buffer } | { kind: 'status'; error: StatusObject | undefined } | { kind: 'reset' };

/** A call of the contract, with the code that packs its messages. */
export type Method = MethodDefinition<unknown, unknown>;

/** The sending half of an end. */
export interface Sender<T> {
  /** False: it is full, a drain will come. */
  send(item: T, what: string): boolean;
}

export function unavailable(details: string): StatusObject {
  return { code: status.UNAVAILABLE, details, metadata: new Metadata() };
}

/** The client's end of a call: looks like a ClientDuplexStream to the code that is tested. */
export class ClientEnd extends EventEmitter {
  readonly #method: Method;
  readonly #sender: Sender<ToServer>;
  done = false;

  constructor(method: Method, sender: Sender<ToServer>) {
    super();
    this.#method = method;
    this.#sender = sender;
  }

  write(frame: unknown): boolean {
    if (this.done) return true;
    return this.#sender.send({ kind: 'data', bytes: this.#method.requestSerialize(frame) }, `▶ ${nameOf(frame)}`);
  }

  end(): void {
    if (!this.done) this.#sender.send({ kind: 'end' }, '▶ end');
  }

  cancel(): void {
    if (this.done) return;
    this.#sender.send({ kind: 'reset' }, '▶ reset');
    this.#fail({ code: status.CANCELLED, details: 'Cancelled on client', metadata: new Metadata() });
  }

  /** The connection is gone. */
  lose(details: string): void {
    if (this.done) return;
    this.#sender.send({ kind: 'reset' }, '▶ reset');
    this.#fail(unavailable(details));
  }

  take(item: ToClient): void {
    if (this.done) return;
    if (item.kind === 'data') this.emit('data', this.#method.responseDeserialize(item.bytes));
    else if (item.kind === 'reset') this.#fail(unavailable('the connection was reset'));
    else if (item.error !== undefined) this.#fail(item.error);
    else {
      this.done = true;
      this.emit('end');
      this.emit('status', { code: status.OK, details: '', metadata: new Metadata() });
    }
  }

  #fail(error: StatusObject): void {
    this.done = true;
    if (this.listenerCount('error') > 0) this.emit('error', Object.assign(new Error(error.details ?? ''), error));
    this.emit('status', error);
  }
}

/** The server's end of a call: looks like a ServerDuplexStream to the code that is tested. */
export class ServerEnd extends EventEmitter {
  readonly #method: Method;
  readonly #sender: Sender<ToClient>;
  readonly #peer: string;
  readonly #held: ToServer[] = [];
  #paused = false;
  done = false;
  /** Told of each frame that the server writes. */
  onWrite: (frame: unknown) => void = () => undefined;

  constructor(method: Method, sender: Sender<ToClient>, peer: string) {
    super();
    this.#method = method;
    this.#sender = sender;
    this.#peer = peer;
    this.on('error', (error: StatusObject) => this.#finish(error));
  }

  getPeer(): string {
    return this.#peer;
  }

  getPath(): string {
    return this.#method.path;
  }

  write(frame: unknown): boolean {
    if (this.done) return true;
    this.onWrite(frame);
    return this.#sender.send({ kind: 'data', bytes: this.#method.responseSerialize(frame) }, `◀ ${nameOf(frame)}`);
  }

  end(): void {
    this.#finish(undefined);
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    for (const item of this.#held.splice(0)) this.take(item);
  }

  /** The connection is gone. */
  lose(): void {
    if (this.done) return;
    this.#sender.send({ kind: 'reset' }, '◀ reset');
    this.#cancel();
  }

  take(item: ToServer): void {
    if (this.done) return;
    if (item.kind === 'reset') this.#cancel();
    else if (this.#paused) this.#held.push(item);
    else if (item.kind === 'end') this.emit('end');
    else this.emit('data', this.#method.requestDeserialize(item.bytes));
  }

  /** As grpc-js does: a half-close comes before a cancellation. */
  #cancel(): void {
    this.emit('end');
    this.done = true;
    this.emit('cancelled', 'cancelled');
    this.emit('close');
  }

  #finish(error: StatusObject | undefined): void {
    if (this.done) return;
    this.done = true;
    this.#sender.send({ kind: 'status', error }, `◀ status ${error?.details ?? 'OK'}`);
  }
}

/** For the trace: which frame it is, and which attempts are in it. */
function nameOf(frame: unknown): string {
  for (const [name, value] of Object.entries(frame as Record<string, Frame | undefined>)) {
    if (value === undefined || value === null) continue;
    const attempts = value.tasks ?? value.results ?? value.attempts ?? value.held ?? value.refusals ?? [];
    const ids = Array.isArray(attempts) ? attempts.map((each) => ` ${each.instance_id ?? ''}/${each.attempt ?? ''}${each.reason ?? ''}`).join('') : '';
    return `${name} ${value.sequence ?? value.granted ?? value.partitions?.[0]?.epoch ?? ''}${ids}`;
  }
  return 'empty';
}

interface Named {
  instance_id?: string;
  attempt?: number;
  reason?: string;
}

interface Frame {
  tasks?: Named[];
  results?: Named[];
  attempts?: Named[];
  held?: Named[];
  refusals?: Named[];
  sequence?: number;
  granted?: number;
  partitions?: { epoch?: number }[];
}
