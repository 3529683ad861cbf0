/** Random numbers that follow from their seed alone (sfc32). */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: number) {
    this.#a = seed | 0;
    this.#b = Math.trunc(seed / 2 ** 32) | 0;
    this.#c = 0x9e3779b9;
    for (let i = 0; i < 16; i++) this.next();
  }

  /** 0 to below 1. */
  readonly next = (): number => {
    const t = (this.#a + this.#b + this.#counter++) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + t;
    this.#c |= 0;
    return (t >>> 0) / 2 ** 32;
  };

  between(least: number, most: number): number {
    return least + this.next() * (most - least);
  }

  /** A whole number, both ends included. */
  int(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(of: readonly T[]): T {
    return of[this.int(0, of.length - 1)] as T;
  }

  /** Small mostly, with a long tail up to `most`. */
  tail(usual: number, most: number): number {
    return this.chance(0.05) ? this.between(usual, most) : this.next() * usual;
  }

  /** An independent source. */
  fork(): Random {
    return new Random(this.int(0, 2 ** 32 - 1) * 2 ** 20 + this.int(0, 2 ** 20 - 1));
  }

  readonly fill = (bytes: Buffer): void => {
    for (let i = 0; i < bytes.length; i++) bytes[i] = this.int(0, 255);
  };
}
