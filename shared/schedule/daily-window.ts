import { LtsError } from '../errors/lts-error.js';
import { dayMs, lastYear, toDayNumber, weekdayOf } from './calendar.js';
import type { Timetable } from './timetable.js';
import { type Zone, zoneOf } from './zone.js';

/** Every so often within a part of the day. */
export interface DailyWindowSpec {
  /** Milliseconds from local midnight, 0 to 86,399,999, both included; from > to: the window goes on past midnight. */
  from: number;
  to: number;
  /** Milliseconds, 1,000 or more. Longer than the window: once per window. */
  every: number;
  /** ISO weekdays on which a window begins, 1 is Monday, 7 Sunday; empty: all. */
  weekdays: readonly number[];
  /** A name of the IANA list; '' is UTC. */
  zone: string;
}

/** A part of a window in which local time runs as real time does; both ends belong to it. */
interface Part {
  start: number;
  end: number;
}

const lastDay = toDayNumber(lastYear, 12, 31);

/**
 * The window of a day is all instants whose local time lies in it. The fires are those of them that lie a whole number
 * of steps of real time after the first one. So where the clocks jump forward a window is shorter and may begin with the
 * jump, where they jump back it is longer, and a day that a zone leaves out has none.
 */
class DailyWindow implements Timetable {
  readonly #spec: DailyWindowSpec;
  readonly #zone: Zone;
  /** By weekday, 0 is Sunday. */
  readonly #begins: readonly boolean[];

  constructor(spec: DailyWindowSpec, zone: Zone) {
    this.#spec = spec;
    this.#zone = zone;
    this.#begins = Array.from({ length: 7 }, (_, weekday) => spec.weekdays.length === 0 || spec.weekdays.includes(weekday === 0 ? 7 : weekday));
  }

  next(from: number): number | undefined {
    const instant = Math.max(from, 0);
    const today = Math.floor((instant + this.#zone.at(instant).offset) / dayMs);
    // A clock that is put back over midnight brings the day before again, and a window may have begun the day before.
    for (let day = today - 2; day <= lastDay; day += 1) {
      const fire = this.#nextOfDay(day, instant);
      if (fire === undefined) continue;
      const other = this.#nextOfDay(day + 1, instant);
      return other === undefined ? fire : Math.min(fire, other);
    }
    return undefined;
  }

  #nextOfDay(day: number, from: number): number | undefined {
    if (this.#begins[weekdayOf(day)] !== true) return undefined;
    const { from: begin, to, every } = this.#spec;
    const parts = this.#parts(day * dayMs + begin, (to < begin ? day + 1 : day) * dayMs + to);
    const first = parts[0]?.start ?? 0;
    for (const { start, end } of parts) {
      const fire = first + Math.ceil((Math.max(from, start) - first) / every) * every;
      if (fire <= end) return fire;
    }
    return undefined;
  }

  /** The instants whose local time is from `low` to `high`, in order. */
  #parts(low: number, high: number): Part[] {
    const parts: Part[] = [];
    for (let stretch = this.#zone.at(low - dayMs); stretch.start <= high + dayMs; stretch = this.#zone.at(stretch.end)) {
      const start = Math.max(stretch.start, low - stretch.offset);
      const end = Math.min(stretch.end - 1, high - stretch.offset);
      if (start <= end) parts.push({ start, end });
      if (stretch.end === Infinity) break;
    }
    return parts;
  }
}

/** The fires of a daily window, from 1970 to 2099. Throws INVALID_ARGUMENT. */
export function dailyWindow(spec: DailyWindowSpec): Timetable {
  for (const name of ['from', 'to'] as const) {
    if (!Number.isInteger(spec[name]) || spec[name] < 0 || spec[name] >= dayMs) throw new LtsError('INVALID_ARGUMENT', `${name} of a daily window is 0 to ${dayMs - 1} milliseconds from midnight, not ${spec[name]}`);
  }
  if (!Number.isSafeInteger(spec.every) || spec.every < 1_000) throw new LtsError('INVALID_ARGUMENT', `every of a daily window is 1000 milliseconds or more, not ${spec.every}`);
  const odd = spec.weekdays.find((weekday) => !Number.isInteger(weekday) || weekday < 1 || weekday > 7);
  if (odd !== undefined) throw new LtsError('INVALID_ARGUMENT', `a weekday of a daily window is 1 (Monday) to 7 (Sunday), not ${odd}`);
  return new DailyWindow(spec, zoneOf(spec.zone));
}
