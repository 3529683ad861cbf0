/** Collects job buffers of any origin into one buffer of their own, which can change threads without a copy. */
export class JobPacker {
  readonly lengths: number[] = [];
  readonly #jobs: Uint8Array[] = [];
  #bytes = 0;

  /** Keeps the job, or notes that there is none. Returns its length, -1 for none. */
  add(job: Uint8Array | undefined): number {
    const length = job === undefined ? -1 : job.length;
    this.lengths.push(length);
    if (job !== undefined) {
      this.#jobs.push(job);
      this.#bytes += length;
    }
    return length;
  }

  finish(): Uint8Array<ArrayBuffer> {
    const all = new Uint8Array(new ArrayBuffer(this.#bytes));
    let at = 0;
    for (const job of this.#jobs) {
      all.set(job, at);
      at += job.length;
    }
    return all;
  }
}

/** Gives the packed jobs back one by one, in the order in which they were added. They share one buffer. */
export function jobsOf(lengths: readonly number[], packed: Uint8Array<ArrayBuffer>): () => Buffer | undefined {
  const all = Buffer.from(packed.buffer, packed.byteOffset, packed.length);
  let index = 0;
  let at = 0;
  return () => {
    const length = lengths[index++] ?? -1;
    return length < 0 ? undefined : all.subarray(at, (at += length));
  };
}
