import { record } from '../checker/history.js';
import { hostMs } from './host-clock.js';
import type { Program } from './program.js';

/** A process that is younger has not got its size yet. */
const warmMs = 15_000;
/** What a process may grow by beyond twice its size when it was warm. */
const slackMb = 150;
/** Connections that come and go with the faults. */
const slackFiles = 60;

interface Warm {
  pid: number;
  since: number;
  rssMb: number;
  files: number;
}

/** Memory and open files of every process: how they are when it is warm, and at the end. */
export class Usage {
  readonly #programs: readonly Program[];
  readonly #warm = new Map<string, Warm>();
  /** Largest size seen, by process. */
  readonly peakMb = new Map<string, number>();

  constructor(programs: Iterable<Program>) {
    this.#programs = [...programs];
  }

  /** Looks at all processes. To be called every few seconds. */
  look(): void {
    for (const program of this.#programs) {
      const now = program.usage();
      if (now === undefined) continue;
      this.peakMb.set(program.name, Math.max(now.rssMb, this.peakMb.get(program.name) ?? 0));
      const warm = this.#warm.get(program.name);
      if (warm?.pid !== now.pid) this.#warm.set(program.name, { ...now, since: hostMs() });
      else if (hostMs() - warm.since < warmMs) Object.assign(warm, { rssMb: Math.max(warm.rssMb, now.rssMb), files: Math.max(warm.files, now.files) });
    }
  }

  /** Records what each process uses in the end against what it used when it was warm. */
  conclude(history: string): void {
    for (const program of this.#programs) {
      const [now, warm] = [program.usage(), this.#warm.get(program.name)];
      if (now === undefined || warm === undefined || warm.pid !== now.pid) continue;
      // What one of a kind has another may get: work moves between them, and one may come to have the connections of all.
      const alike = [...this.#warm].flatMap(([name, other]) => (kindOf(name) === kindOf(program.name) ? [other] : []));
      const limits = { rssLimitMb: 2 * Math.max(...alike.map(({ rssMb }) => rssMb)) + slackMb, filesLimit: alike.reduce((sum, { files }) => sum + files, slackFiles) };
      record(history, 'resources', { kind: 'resources', process: program.name, rssMb: now.rssMb, files: now.files, ...limits });
    }
  }
}

/** Trackers are a, b, c; workers w1 and so on. */
function kindOf(name: string): string {
  return name.length === 1 ? 'tracker' : name.replace(/\d+$/, '');
}
