import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { LtsError, messageOf } from '../../../shared/errors/lts-error.js';
import type { ThreadSettings, ToMain, ToStream } from './messages.js';
import type { ThreadStart } from './thread.js';

/** Who hears what the stream thread says. */
export interface StreamListener {
  take(message: ToMain): void;
  /** The thread ended though it was not asked to. */
  died(error: LtsError): void;
}

/** The main thread's handle of the stream thread. */
export class StreamThread {
  readonly #port: MessagePort;
  readonly #worker: Worker;
  readonly #listener: StreamListener;
  readonly #aborts = new Int32Array(new SharedArrayBuffer(4));
  #abortsSeen = 0;
  /** No death is told any more. */
  #done = false;

  constructor(settings: ThreadSettings, listener: StreamListener) {
    this.#listener = listener;
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    const workerData: ThreadStart = { port: port2, settings, aborts: this.#aborts };
    this.#worker = new Worker(new URL('thread.js', import.meta.url), { workerData, transferList: [port2], execArgv: [] });
    port1.on('message', (message: ToMain) => listener.take(message));
    this.#worker.on('error', (error) => this.#died(messageOf(error)));
    this.#worker.on('exit', (code) => this.#died(`it exited with code ${code}`));
  }

  post(message: ToStream): void {
    this.#port.postMessage(message);
  }

  /** Takes waiting messages when an abort is among them. Cheap when there is none. */
  catchUp(): void {
    const aborts = Atomics.load(this.#aborts, 0);
    if (aborts === this.#abortsSeen) return;
    this.#abortsSeen = aborts;
    for (let next = receiveMessageOnPort(this.#port); next !== undefined; next = receiveMessageOnPort(this.#port)) this.#listener.take(next.message as ToMain);
  }

  async end(): Promise<void> {
    this.#done = true;
    await this.#worker.terminate();
    this.#port.close();
  }

  #died(why: string): void {
    if (this.#done) return;
    this.#done = true;
    this.#listener.died(new LtsError('INTERNAL', `the stream thread died: ${why}`));
  }
}
