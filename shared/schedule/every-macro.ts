import type { Refuse } from './cron-fields.js';
import { grid } from './grid.js';
import { spreadBelow } from './spread.js';
import type { Timetable } from './timetable.js';

const unitMs = { S: 1_000, M: 60_000, H: 3_600_000, D: 86_400_000 } as const;

/** A hundred years. */
const longestMs = 36_525 * unitMs.D;

/**
 * `@every 90s`, `@every 1h30m`: in real time, whatever clocks do. The fires lie on a grid that begins at 1970 plus a
 * part of the interval, in whole seconds, that the spread text gives; so a restart changes nothing.
 */
export function parseEvery(text: string, spread: string, refuse: Refuse): Timetable {
  const duration = /^@EVERY[ \t]+((?:\d+[SMHD])+)$/.exec(text)?.[1];
  if (duration === undefined) throw refuse(text, 'write @every with days, hours, minutes and seconds, such as @every 90s or @every 1h30m');
  const parts = [...duration.matchAll(/(\d+)([SMHD])/g)];
  const interval = parts.reduce((sum, [, count, unit]) => sum + Number(count) * unitMs[unit as keyof typeof unitMs], 0);
  if (interval < 1_000 || interval > longestMs) throw refuse(duration, 'an interval is 1s to 36525d');
  return grid(spreadBelow(interval / 1_000, spread, '@every') * 1_000, interval);
}
