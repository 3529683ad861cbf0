/** One number for all that has happened, in its order (cyrb53 over all texts). */
export class TraceHash {
  #low = 0xdeadbeef;
  #high = 0x41c6ce57;

  add(text: string): void {
    let low = this.#low;
    let high = this.#high;
    for (let i = 0; i < text.length; i++) {
      const char = text.charCodeAt(i);
      low = Math.imul(low ^ char, 2_654_435_761);
      high = Math.imul(high ^ char, 1_597_334_677);
    }
    this.#low = low ^ (high >>> 13);
    this.#high = high ^ (low >>> 16);
  }

  get value(): string {
    return (this.#high >>> 0).toString(16).padStart(8, '0') + (this.#low >>> 0).toString(16).padStart(8, '0');
  }
}
