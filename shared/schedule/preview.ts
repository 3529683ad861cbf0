import { z } from 'zod';
import { LtsError, toLtsError } from '../errors/lts-error.js';
import { formatDuration } from '../time/duration.js';
import { cron, type CronSpec } from './cron.js';
import { formatInstant, parseInstant } from './instant.js';
import type { Timetable } from './timetable.js';
import { type Zone, zoneOf } from './zone.js';

/** One fire of a preview. */
export interface PreviewedFire {
  /** Milliseconds since 1970. */
  at: number;
  /** What local time has more than UTC, in milliseconds. */
  offset: number;
  /** What a change of the zone's clocks has to do with it; '' for nothing. */
  note: string;
}

export const mostFires = 10_000;

/** The fires from `from` on (included), at most `count`. Throws INVALID_ARGUMENT. */
export function previewFires(timetable: Timetable, zoneName: string, from: number, count: number): PreviewedFire[] {
  if (!Number.isInteger(count) || count < 1 || count > mostFires) throw new LtsError('INVALID_ARGUMENT', `count is 1 to ${mostFires.toLocaleString('en-US')}, not ${count}`);
  const zone = zoneOf(zoneName);
  const fires: PreviewedFire[] = [];
  let next = timetable.next(from);
  for (; next !== undefined && fires.length < count; next = timetable.next(next + 1)) {
    fires.push({ at: next, offset: zone.at(next).offset, note: noteOf(zone, next, fires.at(-1)) });
  }
  return fires;
}

function noteOf(zone: Zone, at: number, previous: PreviewedFire | undefined): string {
  const { start, end, offset, before, after } = zone.at(at);
  const change = (by: number): string => `${by > 0 ? 'forward' : 'back'} ${formatDuration(Math.abs(by))}`;
  if (at === start && offset > before) return `clocks go ${change(offset - before)} at this instant`;
  if (at + 1_000 === end && after > offset) return `clocks go ${change(after - offset)} a second later`;
  if (before > offset && at + offset < start + before) return `second of two: clocks went ${change(offset - before)}`;
  if (after < offset && at + offset >= end + after) return `first of two: clocks go ${change(after - offset)}`;
  return previous === undefined || previous.offset === offset ? '' : `clocks went ${change(offset - previous.offset)}`;
}

/** What a preview by JSON answers: instants in ISO 8601 (none: it never fires again), or what is wrong with the request. */
export type PreviewAnswer = { fires: string[] } | { error: string };

const word = <const T extends string>(words: readonly T[]) =>
  z
    .string()
    .transform((value) => value.trim().toUpperCase().replaceAll('-', '_'))
    .pipe(z.enum(words))
    .nullish();

const requestSchema = z.strictObject({
  cron: z.string(),
  dialect: word(['AUTO', 'UNIX', 'QUARTZ']),
  zone: z.string().nullish(),
  from: z.union([z.string(), z.number()]).nullish(),
  count: z.number().nullish(),
  gap: word(['DEFAULT', 'SKIP', 'RUN_BEFORE', 'RUN_AFTER']),
  overlap: word(['DEFAULT', 'FIRST', 'SECOND', 'BOTH']),
  spread: z.string().nullish(),
});

/** A request as it came from a user. All but cron may be left out or null. Throws INVALID_ARGUMENT. */
export function readPreviewRequest(request: unknown, now: number): { spec: CronSpec; from: number; count: number } {
  const parsed = requestSchema.safeParse(request);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) => `${path.join('.')}${path.length > 0 ? ': ' : ''}${message}`);
    throw new LtsError('INVALID_ARGUMENT', `not a request such as {"cron":"0 12 * * *","zone":"Europe/Berlin","count":5}: ${problems.join('; ')}`);
  }
  const { cron: expression, dialect, zone, from, count, gap, overlap, spread } = parsed.data;
  const instant = from === undefined || from === null ? now : parseInstant(from);
  if (instant === undefined) throw new LtsError('INVALID_ARGUMENT', `from ${JSON.stringify(from)} is not an instant such as 2026-12-31T23:00:00Z, 2026-12-31T23:00:00+01:00, or milliseconds since 1970`);
  const spec: CronSpec = { expression, dialect: dialect ?? 'AUTO', zone: zone ?? '', gap: gap ?? 'DEFAULT', overlap: overlap ?? 'DEFAULT', spread: spread ?? '' };
  return { spec, from: instant, count: count ?? 10 };
}

/** Answers one request; never throws. */
export function preview(request: unknown, now: number): PreviewAnswer {
  try {
    const { spec, from, count } = readPreviewRequest(request, now);
    return toAnswer(previewFires(cron(spec), spec.zone, from, count));
  } catch (error) {
    return { error: toLtsError(error).message };
  }
}

/** Fires as the answer of a preview by JSON. */
export function toAnswer(fires: readonly PreviewedFire[]): PreviewAnswer {
  return { fires: fires.map(({ at }) => formatInstant(at) ?? '') };
}
