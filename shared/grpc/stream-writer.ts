import { LtsError } from '../errors/lts-error.js';
import { type Clock, systemClock, type Timer } from '../time/clock.js';

/** The writing half of a gRPC stream. */
export interface Writable<T> {
  write(frame: T): boolean;
  once(event: 'drain', listener: () => void): unknown;
}

/** What a writer needs beside its stream. */
export interface StreamWriterOptions {
  /** A stream that takes nothing for so long is given up. Default 20,000 ms. */
  stallMs?: number;
  /** Called once when the stream is given up; the caller cancels it. */
  onStall(error: LtsError): void;
  clock?: Clock;
}

/**
 * The only one who writes to a stream: waits for drain, so that nothing queues without a bound. While the peer does
 * not read, `ready` is false and `write` throws; producers keep their own bounded queues and go on at `onDrain`.
 */
export class StreamWriter<T> {
  #full = false;
  #closed = false;
  #stall: Timer | undefined;
  readonly #stream: Writable<T>;
  readonly #options: StreamWriterOptions;
  readonly #listeners: (() => void)[] = [];

  constructor(stream: Writable<T>, options: StreamWriterOptions) {
    this.#stream = stream;
    this.#options = options;
  }

  /** Whether a frame may be written now. */
  get ready(): boolean {
    return !this.#full && !this.#closed;
  }

  /** Called each time the stream takes frames again. */
  onDrain(listener: () => void): void {
    this.#listeners.push(listener);
  }

  write(frame: T): void {
    if (this.#closed) return;
    if (this.#full) throw new Error('written to a stream that is full');
    if (this.#stream.write(frame)) return;
    this.#full = true;
    const { clock = systemClock, stallMs = 20_000 } = this.#options;
    this.#stall = clock.after(stallMs, () => {
      this.close();
      this.#options.onStall(new LtsError('DEADLINE_PASSED', `the peer read nothing for ${stallMs} ms`));
    }, { unref: true });
    this.#stream.once('drain', () => {
      this.#full = false;
      this.#stall?.cancel();
      if (!this.#closed) for (const listener of this.#listeners) listener();
    });
  }

  /** Writes no more. */
  close(): void {
    this.#closed = true;
    this.#stall?.cancel();
  }
}
