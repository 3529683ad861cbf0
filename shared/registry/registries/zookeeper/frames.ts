/** Largest answer of a server that is taken, in bytes. A server limits what it takes (1 MiB), not what it sends. */
export const maxFrameBytes = 16 * 1024 * 1024;

/**
 * Cuts the bytes of one TCP connection into ZooKeeper's frames: a length of 4 bytes, big-endian, then that many bytes.
 * The library does this itself, but keeps half a frame over a reconnect, copies all that is pending for each frame, and
 * believes any length; so it is only ever given one whole frame.
 */
export class FrameReader {
  #chunks: Buffer[] = [];
  #bytes = 0;

  /** The frames that are whole now, each with its length in front. Throws on a length that cannot be. */
  push(chunk: Buffer): Buffer[] {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes < this.#wanted()) return [];
    const all = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks, this.#bytes);
    const frames: Buffer[] = [];
    let at = 0;
    while (all.length - at >= 4) {
      const end = at + 4 + lengthAt(all, at);
      if (end > all.length) break;
      frames.push(all.subarray(at, end));
      at = end;
    }
    this.#chunks = at === all.length ? [] : [all.subarray(at)];
    this.#bytes = all.length - at;
    return frames;
  }

  /** Bytes needed before the next frame can be whole, as far as its length is known. */
  #wanted(): number {
    const first = this.#chunks[0];
    return first === undefined || first.length < 4 ? 4 : 4 + lengthAt(first, 0);
  }
}

function lengthAt(bytes: Buffer, at: number): number {
  const length = bytes.readInt32BE(at);
  if (length < 0 || length > maxFrameBytes) throw new Error(`a frame of ${length} bytes cannot be`);
  return length;
}
