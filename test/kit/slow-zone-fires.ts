import type { PlainDay, RandomCron } from './random-cron.js';

// What fires in a time zone, minute by minute: the local time of every minute is asked of Intl, and skipped and repeated
// minutes are found by comparing neighbours.

interface LocalMinute extends PlainDay {
  /** The instant, in milliseconds since 1970. */
  at: number;
  /** The wall clock as if it were UTC, in milliseconds since 1970. */
  wall: number;
  /** Whether the same wall clock was there before, and whether it comes again. */
  isRepeated: boolean;
  isRepeatedLater: boolean;
  /** The walls that were left out just before this minute. */
  skipped: PlainWall[];
}

type PlainWall = PlainDay & { wall: number };

const minuteMs = 60_000;
const dayMs = 86_400_000;

/** The minutes of a zone in a stretch of time. */
export class SlowZone {
  readonly from: number;
  readonly to: number;
  readonly #minutes: LocalMinute[] = [];
  readonly #days = new Set<number>();

  /** From `from` to before `to`, both whole minutes. */
  constructor(zone: string, from: number, to: number) {
    this.from = from;
    this.to = to;
    const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' });
    const byWall = new Map<number, LocalMinute>();
    for (let at = from; at < to; at += minuteMs) {
      // 3/29/2026, 01:00
      const [month = 0, day = 0, year = 0, hour = 0, minute = 0] = format.format(at).match(/\d+/g)?.map(Number) ?? [];
      const wall = Date.UTC(year, month - 1, day, hour, minute);
      const earlier = byWall.get(wall);
      if (earlier !== undefined) earlier.isRepeatedLater = true;
      const skipped: PlainWall[] = [];
      for (let left = (this.#minutes.at(-1)?.wall ?? wall) + minuteMs; left < wall; left += minuteMs) skipped.push(plain(left));
      const made = { at, ...plain(wall), isRepeated: earlier !== undefined, isRepeatedLater: false, skipped };
      this.#minutes.push(made);
      byWall.set(wall, made);
      this.#days.add(Math.floor(wall / dayMs));
    }
  }

  /** The fires of an expression of whole minutes, by policy. */
  fires(random: RandomCron): (gap: string, overlap: string) => number[] {
    const matching = this.#minutes.filter((minute) => matches(random, minute));
    const leftOut = this.#minutes.flatMap(({ at, skipped }) => skipped.filter((wall) => matches(random, wall)).map(({ wall }) => ({ at, wall })));
    return (gap, overlap) => {
      const inGap = gap === 'DEFAULT' ? (random.interval ? 'SKIP' : 'RUN_AFTER') : gap;
      const inOverlap = overlap === 'DEFAULT' ? (random.interval ? 'BOTH' : 'FIRST') : overlap;
      const there = matching.filter(({ isRepeated, isRepeatedLater }) => !(inOverlap === 'FIRST' && isRepeated) && !(inOverlap === 'SECOND' && isRepeatedLater));
      // By default a day that the zone leaves out as a whole owes nothing.
      const owed = inGap === 'SKIP' ? [] : leftOut.filter(({ wall }) => gap !== 'DEFAULT' || this.#days.has(Math.floor(wall / dayMs)));
      const fires = new Set([...there.map(({ at }) => at), ...owed.map(({ at }) => (inGap === 'RUN_AFTER' ? at : at - 1_000))]);
      return [...fires].toSorted((a, b) => a - b);
    };
  }
}

function plain(wall: number): PlainWall {
  const date = new Date(wall);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth() + 1];
  return { wall, year, month, day: date.getUTCDate(), weekday: date.getUTCDay(), length: new Date(Date.UTC(year, month, 0)).getUTCDate() };
}

function matches(random: RandomCron, local: PlainWall): boolean {
  const ofDay = (local.wall % dayMs) / minuteMs;
  return random.hours.has(Math.floor(ofDay / 60)) && random.minutes.has(ofDay % 60) && random.onDay(local);
}
