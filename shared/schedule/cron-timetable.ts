import { dayMs } from './calendar.js';
import type { CronFields } from './cron-fields.js';
import { nextLocal } from './next-local.js';
import type { Timetable } from './timetable.js';
import type { Stretch, Zone } from './zone.js';

/** Local times that a forward jump of the clocks leaves out; DEFAULT: see CronTimetable. */
export type GapPolicy = 'DEFAULT' | 'SKIP' | 'RUN_BEFORE' | 'RUN_AFTER';
/** Local times that a backward jump of the clocks brings twice; DEFAULT: see CronTimetable. */
export type OverlapPolicy = 'DEFAULT' | 'FIRST' | 'SECOND' | 'BOTH';

/** The longest jump of a zone, and more than the largest offset with it. */
const farMs = 2 * dayMs;

/**
 * The instants whose local time matches the fields, and what becomes of local times that a zone skips or repeats.
 *
 * Between two jumps of a zone's clocks local time runs as real time does, so the search goes stretch by stretch: the
 * next matching local time, minus the offset, counts when it lies in the stretch. At a jump:
 *
 * - Forward (gap): when a time in the gap matches, SKIP adds nothing, RUN_BEFORE one fire a second before the jump,
 *   RUN_AFTER one at the jump. A fire that is there anyway stands for it.
 * - Backward (overlap): FIRST leaves out the repeated times after the jump, SECOND the ones before it, BOTH neither.
 * - DEFAULT goes by the fields. When hour or minute is `*` or has a step, the schedule follows real time: SKIP and BOTH,
 *   every real matching instant and no other. Otherwise its times come once per local day: RUN_AFTER and FIRST. A day
 *   that a zone leaves out as a whole (Apia, 2011-12-30) owes nothing then.
 */
export class CronTimetable implements Timetable {
  readonly #fields: CronFields;
  readonly #zone: Zone;
  readonly #gap: Exclude<GapPolicy, 'DEFAULT'>;
  readonly #overlap: Exclude<OverlapPolicy, 'DEFAULT'>;
  readonly #leavesOutDays: boolean;

  constructor(fields: CronFields, zone: Zone, gap: GapPolicy, overlap: OverlapPolicy) {
    this.#fields = fields;
    this.#zone = zone;
    this.#gap = gap !== 'DEFAULT' ? gap : fields.interval ? 'SKIP' : 'RUN_AFTER';
    this.#overlap = overlap !== 'DEFAULT' ? overlap : fields.interval ? 'BOTH' : 'FIRST';
    this.#leavesOutDays = gap === 'DEFAULT';
  }

  next(from: number): number | undefined {
    let instant = Math.max(from, 0);
    for (;;) {
      const stretch = this.#zone.at(instant);
      if (instant <= stretch.start && this.#gap === 'RUN_AFTER' && this.#owesGap(stretch.start, stretch.before, stretch.offset)) return stretch.start;
      const { low, high } = this.#localBounds(stretch, instant);
      const local = nextLocal(this.#fields, low);
      if (local !== undefined && local < high) return local - stretch.offset;
      const beforeGap = this.#fireBeforeGap(stretch, instant);
      if (beforeGap !== undefined) return beforeGap;
      const repeats = stretch.end + stretch.after < low;
      if (repeats) instant = stretch.end;
      else if (local === undefined) return undefined;
      else instant = Math.max(stretch.end, local - farMs);
    }
  }

  /** The local times of a stretch that count, from an instant in it on. */
  #localBounds({ start, end, offset, before, after }: Stretch, instant: number): { low: number; high: number } {
    const skipsRepeated = this.#overlap === 'FIRST' && before > offset;
    const leavesToSecond = this.#overlap === 'SECOND' && after < offset;
    return {
      low: skipsRepeated ? Math.max(instant + offset, start + before) : instant + offset,
      high: end + (leavesToSecond ? after : offset),
    };
  }

  #fireBeforeGap({ end, offset, after }: Stretch, instant: number): number | undefined {
    const fire = end - 1_000;
    return this.#gap === 'RUN_BEFORE' && fire >= instant && this.#owesGap(end, offset, after) ? fire : undefined;
  }

  /** Whether a local time matches that the jump at `instant` leaves out. */
  #owesGap(instant: number, before: number, after: number): boolean {
    const [start, end] = [instant + before, instant + after];
    if (end <= start) return false;
    for (let low = start; low < end; ) {
      const local = nextLocal(this.#fields, low);
      if (local === undefined || local >= end) return false;
      const day = Math.floor(local / dayMs) * dayMs;
      if (!this.#leavesOutDays || day < start || day + dayMs > end) return true;
      low = day + dayMs;
    }
    return false;
  }
}
