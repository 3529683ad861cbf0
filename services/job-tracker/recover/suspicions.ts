/**
 * What looks wrong is mended only when the next look, about a second later, finds the very same: a commit whose outcome
 * is being told between a read and its answer looks wrong once, damage stays.
 */
export class Suspicions {
  #before = new Set<string>();
  #now = new Map<string, () => void>();

  /** In the look that runs, this is wrong; `mend` is called when it was in the last one, too. */
  raise(what: string, mend: () => void): void {
    this.#now.set(what, mend);
  }

  /** Ends the look. True when something is to be looked at again. */
  judge(): boolean {
    const before = this.#before;
    const now = this.#now;
    this.clear();
    for (const [what, mend] of now) {
      if (before.has(what)) mend();
      else this.#before.add(what);
    }
    return this.#before.size > 0;
  }

  clear(): void {
    this.#before = new Set();
    this.#now = new Map();
  }
}
