import { type ClientHttp2Session, type ClientHttp2Stream, connect, type IncomingHttpHeaders } from 'node:http2';
import { eventually } from '../../kit/eventually.js';
import type { StreamEnd } from './work-stream.js';

/**
 * A gRPC stream by hand that reads nothing until it is told to: its flow-control window fills, as with a program that
 * hangs while its connection lives.
 */
export class DeafStream {
  readonly #session: ClientHttp2Session;
  readonly #stream: ClientHttp2Stream;
  #end: StreamEnd | undefined;
  #closed = false;

  constructor(address: string, path: string) {
    this.#session = connect(`http://${address}`, { maxSessionMemory: 1_000 });
    this.#session.on('error', () => undefined);
    this.#stream = this.#session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' });
    this.#stream.on('error', () => undefined);
    this.#stream.on('close', () => (this.#closed = true));
    const note = (headers: IncomingHttpHeaders): void => {
      const code = headers['grpc-status'];
      if (code !== undefined) this.#end = { code: Number(code), reason: headers['lts-reason']?.toString(), details: decodeURI(headers['grpc-message']?.toString() ?? '') };
    };
    this.#stream.on('response', note);
    this.#stream.on('trailers', note);
    this.#stream.pause();
  }

  /** Whether the tracker has closed it without a status, or with one. */
  get closed(): boolean {
    return this.#closed || this.#end !== undefined;
  }

  /** Bytes that wait because the tracker does not read. */
  get unread(): number {
    return this.#stream.writableLength;
  }

  send(message: Buffer): void {
    const head = Buffer.alloc(5);
    head.writeUInt32BE(message.length, 1);
    if (!this.closed) this.#stream.write(Buffer.concat([head, message]));
  }

  /** Reads at last, and gives how the stream ended. */
  async endAfterReading(): Promise<StreamEnd> {
    this.#stream.resume();
    return eventually(() => this.#end, { what: 'the status of the stream' });
  }

  destroy(): void {
    this.#session.destroy();
  }
}
