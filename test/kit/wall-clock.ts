import { existsSync, writeFileSync } from 'node:fs';

const library = ['/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1', '/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1'].find((path) => existsSync(path));

/** Whether wall clocks of processes can be set here. */
export const clocksCanBeSet = library !== undefined;

/** The wall clock of processes: apart from the true one, and set while they run. The monotonic clock goes on as it is. */
export class WallClock {
  readonly #file: string;

  /** @param file where the offset is kept */
  constructor(file: string, offsetMs: number) {
    if (library === undefined) throw new Error('the library of the package faketime is missing; npm test installs it');
    this.#file = file;
    this.set(offsetMs);
  }

  /** It is so far ahead of the true time within a second. */
  set(offsetMs: number): void {
    writeFileSync(this.#file, `${offsetMs < 0 ? '' : '+'}${offsetMs / 1_000}`);
  }

  /** The environment of processes that have this clock. */
  get env(): Record<string, string> {
    return { LD_PRELOAD: library ?? '', FAKETIME_TIMESTAMP_FILE: this.#file, FAKETIME_CACHE_DURATION: '1', FAKETIME_DONT_FAKE_MONOTONIC: '1' };
  }
}
