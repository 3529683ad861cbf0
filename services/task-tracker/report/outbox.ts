import type { Clock } from '../../../shared/time/clock.js';
import type { Run } from '../run/run.js';
import type { BegunRun, RunLine, RunProgress, ToStream } from '../stream/messages.js';
import { EndedBatchWriter } from './ended-batch.js';

/** While one tick lasts longer than this, what it has brought so far is sent ahead. Milliseconds. */
const longTickMs = 5;
/** So many lines are not kept back, however short the tick. */
const manyLines = 256;

/** Gathers what the runs of one tick report and posts it as one message at the end of the tick, or earlier in a long one. */
export class Outbox {
  readonly #post: (message: ToStream) => void;
  readonly #clock: Clock;
  #ended: EndedBatchWriter | undefined;
  #lines: RunLine[] | undefined;
  /** The newest of each run. */
  #progress: Map<number, RunProgress> | undefined;
  /** Wall time of the first entry; 0 while there is none. */
  #openedAt = 0;

  constructor(post: (message: ToStream) => void, clock: Clock) {
    this.#post = post;
    this.#clock = clock;
  }

  /** Posted at once: the limit must run even when the run blocks this thread. */
  begun(run: BegunRun): void {
    this.#post({ kind: 'begun', run });
  }

  ended(run: Run): void {
    this.#ended ??= new EndedBatchWriter();
    this.#ended.add({
      handle: run.facts.handle,
      startedAt: run.startedAt,
      endedAt: run.endedAt,
      outcome: run.outcome,
      message: run.message,
      truncated: run.truncated,
      retryAt: run.retryAt,
    });
    this.#added(run.endedAt);
  }

  line(line: RunLine): void {
    const lines = (this.#lines ??= []);
    lines.push(line);
    if (lines.length >= manyLines) this.flush();
    else this.#added(line.at);
  }

  progress(progress: RunProgress): void {
    const entries = (this.#progress ??= new Map<number, RunProgress>());
    entries.set(progress.handle, progress);
    this.#added(this.#clock.now());
  }

  flush(): void {
    if (this.#openedAt === 0) return;
    this.#openedAt = 0;
    const message: ToStream = { kind: 'report', ended: this.#ended?.finish(), lines: this.#lines, progress: this.#progress && [...this.#progress.values()] };
    this.#ended = undefined;
    this.#lines = undefined;
    this.#progress = undefined;
    this.#post(message);
  }

  #added(now: number): void {
    if (this.#openedAt === 0) {
      this.#openedAt = now;
      // After the code that runs now and the promises it has settled, before anything else.
      process.nextTick(() => this.flush());
    } else if (now - this.#openedAt > longTickMs) this.flush();
  }
}
