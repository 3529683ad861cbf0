/** A set of whole numbers from 0 to 63 in two words. */
export class NumberSet {
  readonly #low: number;
  readonly #high: number;

  private constructor(low: number, high: number) {
    this.#low = low;
    this.#high = high;
  }

  static of(numbers: Iterable<number>): NumberSet {
    let low = 0;
    let high = 0;
    for (const number of numbers) {
      if (number < 32) low |= 1 << number;
      else high |= 1 << (number - 32);
    }
    return new NumberSet(low, high);
  }

  /** The smallest member from `from` (0 to 64) upwards; -1: there is none. */
  next(from: number): number {
    if (from < 32) {
      const left = this.#low & (-1 << from);
      if (left !== 0) return 31 - Math.clz32(left & -left);
      return this.#high === 0 ? -1 : 63 - Math.clz32(this.#high & -this.#high);
    }
    if (from > 63) return -1;
    const left = this.#high & (-1 << (from - 32));
    return left === 0 ? -1 : 63 - Math.clz32(left & -left);
  }

  has(number: number): boolean {
    return this.next(number) === number;
  }
}
