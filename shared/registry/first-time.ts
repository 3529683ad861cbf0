/** Something that is waited for once. A rejection that nobody waits for is no unhandled one. */
export class FirstTime {
  readonly promise: Promise<void>;
  #resolve: () => void = () => undefined;
  #reject: (error: Error) => void = () => undefined;

  constructor() {
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.promise.catch(() => undefined);
  }

  happened(): void {
    this.#resolve();
  }

  /** It will not happen any more; of no effect when it has. */
  never(error: Error): void {
    this.#reject(error);
  }
}
