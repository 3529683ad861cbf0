import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type RandomCron, unixCrons } from '../../test/kit/random-cron.js';
import { SlowZone } from '../../test/kit/slow-zone-fires.js';
import { cron, type GapPolicy, type OverlapPolicy } from './cron.js';
import type { Timetable } from './timetable.js';

const dayMs = 86_400_000;
const gaps = ['DEFAULT', 'SKIP', 'RUN_BEFORE', 'RUN_AFTER'] as const;
const overlaps = ['DEFAULT', 'FIRST', 'SECOND', 'BOTH'] as const;

/** Each one with the other's default, and both at once. */
const policies = [...gaps.map((gap) => [gap, 'DEFAULT'] as const), ...overlaps.slice(1).map((overlap) => ['DEFAULT', overlap] as const), ['RUN_BEFORE', 'SECOND'] as const];

function timetable(expression: string, zone: string, gap: GapPolicy = 'DEFAULT', overlap: OverlapPolicy = 'DEFAULT'): Timetable {
  return cron({ expression, dialect: 'AUTO', zone, gap, overlap, spread: '' });
}

function between(times: Timetable, from: number, to: number): number[] {
  const found: number[] = [];
  for (let next = times.next(from); next !== undefined && next < to; next = times.next(next + 1)) found.push(next);
  return found;
}

// Five years each; among them a day that was left out, jumps of half an hour, jumps at midnight, at one minute past it,
// and twice a year around Ramadan.
const zones: [zone: string, year: number][] = [
  ['Pacific/Apia', 2009],
  ['Australia/Lord_Howe', 2024],
  ['Africa/Casablanca', 2024],
  ['Asia/Beirut', 2022],
  ['America/Sao_Paulo', 2014],
  ['Europe/Berlin', 2024],
  ['America/New_York', 2024],
  ['Africa/Cairo', 2010],
  ['Asia/Kathmandu', 2024],
  ['America/St_Johns', 2008],
  ['Pacific/Chatham', 2024],
  ['Antarctica/Troll', 2024],
];

/** Three days around each jump of the clocks. */
function jumps(zone: string, year: number): SlowZone[] {
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
  const offset = (at: number): string => format.format(at).slice(-9);
  const found: SlowZone[] = [];
  for (let at = Date.UTC(year, 0, 1); at < Date.UTC(year + 5, 0, 1); at += dayMs) if (offset(at) !== offset(at + dayMs)) found.push(new SlowZone(zone, at - dayMs, at + 2 * dayMs));
  return found.length === 0 ? [new SlowZone(zone, Date.UTC(year, 2, 27), Date.UTC(year, 2, 30))] : found;
}

const plain = (text: string, minutes: number[], hours: number[], interval: boolean, onDay: RandomCron['onDay'] = () => true): RandomCron => ({ text, seconds: new Set([0]), minutes: new Set(minutes), hours: new Set(hours), onDay, interval });
const all = (count: number, step = 1): number[] => Array.from({ length: Math.ceil(count / step) }, (_, index) => index * step);

const schedules: RandomCron[] = [
  plain('0 0 * * *', [0], [0], false),
  plain('30 0 * * *', [30], [0], false),
  plain('59 23 * * *', [59], [23], false),
  plain('30 1 * * *', [30], [1], false),
  plain('15 2 * * *', [15], [2], false),
  plain('0,30 2 * * *', [0, 30], [2], false),
  plain('0 1-4 * * *', [0], [1, 2, 3, 4], false),
  plain('0 12 * * *', [0], [12], false),
  plain('0 * * * *', [0], all(24), true),
  plain('0 */2 * * *', [0], all(24, 2), true),
  plain('*/30 1 * * *', all(60, 30), [1], true),
  plain('*/7 * * * *', all(60, 7), all(24), true),
  plain('0 0-23 * * *', [0], all(24), true),
  plain('30 2 * * 0', [30], [2], false, ({ weekday }) => weekday === 0),
];

describe('a time zone', () => {
  it.each(zones)('%s, five years from %i: the fires around every jump are those of a slow look at every minute, for every policy', (zone, year) => {
    for (const around of jumps(zone, year)) {
      for (const schedule of schedules) {
        const expected = around.fires(schedule);
        for (const [gap, overlap] of policies) {
          expect(between(timetable(schedule.text, zone, gap, overlap), around.from, around.to), `${schedule.text} ${gap} ${overlap} ${new Date(around.from).toISOString()}`).toEqual(expected(gap, overlap));
        }
      }
    }
  });

  it('brings the fires of random expressions around random jumps', () => {
    const around = zones.flatMap(([zone, year]) => jumps(zone, year).slice(-4).map((slow) => ({ zone, slow })));
    fc.assert(
      fc.property(unixCrons, fc.constantFrom(...around), fc.constantFrom(...gaps), fc.constantFrom(...overlaps), (random, { zone, slow }, gap, overlap) => {
        expect(between(timetable(random.text, zone, gap, overlap), slow.from, slow.to), `${random.text} ${zone} ${gap} ${overlap}`).toEqual(slow.fires(random)(gap, overlap));
      }),
      { numRuns: 500 },
    );
  });

  it.each(zones)('%s, five years from %i: a daily time comes once on every local day that there is', (zone, year) => {
    const format = new Intl.DateTimeFormat('en-CA', { timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit' });
    const [from, to] = [Date.UTC(year, 0, 1, 12), Date.UTC(year + 5, 0, 1, 12)];
    const days = new Set<string>();
    for (let at = from + 2 * dayMs; at < to - 2 * dayMs; at += dayMs / 4) days.add(format.format(at));
    for (const time of ['0 0', '30 0', '30 1', '15 2', '30 2', '30 23']) {
      const counts = new Map<string, number>();
      for (const at of between(timetable(`${time} * * *`, zone), from, to)) counts.set(format.format(at), (counts.get(format.format(at)) ?? 0) + 1);
      expect([...days].filter((day) => counts.get(day) !== 1), `at ${time}`).toEqual([]);
    }
  });
});

// The hours that begin with a local midnight; fires by their time in UTC.
describe('around a jump of the clocks', () => {
  it.each<[what: string, expression: string, zone: string, from: string, hours: number, fires: string[], policies?: { gap?: GapPolicy; overlap?: OverlapPolicy }]>([
    ['a daily time in a gap comes right after it', '0 30 2 * * ?', 'America/New_York', '2026-03-08T05:00Z', 24, ['07:00']],
    ['SKIP leaves it out', '0 30 2 * * ?', 'America/New_York', '2026-03-08T05:00Z', 24, [], { gap: 'SKIP' }],
    ['RUN_BEFORE brings it in the last second before', '0 30 2 * * ?', 'America/New_York', '2026-03-08T05:00Z', 24, ['06:59:59'], { gap: 'RUN_BEFORE' }],
    ['RUN_AFTER brings it right after', '0 30 2 * * ?', 'America/New_York', '2026-03-08T05:00Z', 24, ['07:00'], { gap: 'RUN_AFTER' }],
    ['the first minute of a gap is in it', '0 0 2 * * ?', 'America/New_York', '2026-03-08T05:00Z', 24, ['07:00']],
    ['the first minute after it is not', '0 0 3 * * ?', 'America/New_York', '2026-03-08T05:00Z', 24, ['07:00'], { gap: 'SKIP' }],
    ['two times at the same instant are one fire', '0 0,30 2,3 * * ?', 'America/New_York', '2026-03-08T05:00Z', 24, ['07:00', '07:30']],
    ['every two hours invents nothing', '0 0 */2 * * ?', 'America/New_York', '2026-03-08T05:00Z', 6, ['05:00', '08:00', '10:00']],
    ['every two hours with RUN_AFTER does', '0 0 */2 * * ?', 'America/New_York', '2026-03-08T05:00Z', 6, ['05:00', '07:00', '08:00', '10:00'], { gap: 'RUN_AFTER' }],
    ['a daily time in an overlap comes the first time', '0 30 1 * * ?', 'America/New_York', '2026-11-01T04:00Z', 24, ['05:30']],
    ['SECOND brings it the second time', '0 30 1 * * ?', 'America/New_York', '2026-11-01T04:00Z', 24, ['06:30'], { overlap: 'SECOND' }],
    ['BOTH brings it twice', '0 30 1 * * ?', 'America/New_York', '2026-11-01T04:00Z', 24, ['05:30', '06:30'], { overlap: 'BOTH' }],
    ['every hour is every real hour', '0 0 * * * ?', 'America/New_York', '2026-11-01T04:00Z', 5, ['04:00', '05:00', '06:00', '07:00', '08:00']],
    ['FIRST leaves out the repeated hour', '0 0 * * * ?', 'America/New_York', '2026-11-01T04:00Z', 5, ['04:00', '05:00', '07:00', '08:00'], { overlap: 'FIRST' }],
    ['every half hour of one hour is in both', '0 */30 1 * * ?', 'America/New_York', '2026-11-01T04:00Z', 24, ['05:00', '05:30', '06:00', '06:30']],
    ['a list of hours comes once per day', '0 0 0,1,2 * * ?', 'America/New_York', '2026-11-01T04:00Z', 24, ['04:00', '05:00', '07:00']],
    ['all hours as a range are every real hour too', '0 0 0-23 * * ?', 'America/New_York', '2026-11-01T04:00Z', 4, ['04:00', '05:00', '06:00', '07:00']],
    ['Beirut: midnight comes at one', '0 0 0 * * ?', 'Asia/Beirut', '2022-03-26T22:00Z', 23, ['22:00']],
    ['Cairo: midnight comes at one', '0 0 0 * * ?', 'Africa/Cairo', '2024-04-25T22:00Z', 23, ['22:00']],
    ['Sao Paulo: midnight comes at one', '0 0 0 * * ?', 'America/Sao_Paulo', '2018-11-04T03:00Z', 23, ['03:00']],
    ['Sao Paulo: the last hour of a day that comes twice', '0 30 23 * * ?', 'America/Sao_Paulo', '2018-02-17T02:00Z', 25, ['01:30']],
    ['Lord Howe: half an hour is left out', '0 15 2 * * ?', 'Australia/Lord_Howe', '2026-10-03T13:30Z', 23, ['15:30']],
    ['Lord Howe: half an hour comes twice', '0 45 1 * * ?', 'Australia/Lord_Howe', '2026-04-04T13:00Z', 24, ['14:45']],
    ['Apia: the day that was left out owes nothing', '0 0 12 * * ?', 'Pacific/Apia', '2011-12-29T22:01Z', 23, []],
    ['Apia: unless it is asked for', '0 0 12 * * ?', 'Pacific/Apia', '2011-12-29T22:01Z', 23, ['10:00'], { gap: 'RUN_AFTER' }],
    ['Casablanca: the hour that comes twice as Ramadan begins', '0 30 2 * * ?', 'Africa/Casablanca', '2026-02-14T23:00Z', 24, ['01:30']],
    ['Casablanca: the hour that is left out as it ends', '0 30 2 * * ?', 'Africa/Casablanca', '2026-03-22T00:00Z', 23, ['02:00']],
  ])('%s', (_, expression, zone, from, hours, fires, policies = {}) => {
    const found = between(timetable(expression, zone, policies.gap, policies.overlap), Date.parse(from), Date.parse(from) + hours * 3_600_000);
    expect(found.map((at) => new Date(at).toISOString().slice(11, 19).replace(/:00$/, ''))).toEqual(fires);
  });

  it('does not lose a fire of the last year between the two passes of an overlap', () => {
    const last = timetable('0 30 1 1 11 ? 2026', 'America/New_York', 'DEFAULT', 'BOTH');
    expect(last.next(Date.parse('2026-11-01T05:30:01Z'))).toBe(Date.parse('2026-11-01T06:30:00Z'));
    expect(last.next(Date.parse('2026-11-01T06:30:01Z'))).toBeUndefined();
  });

  it('ends for what never fires, in a zone too', () => {
    expect(timetable('0 0 12 30 2 ?', 'Europe/Berlin').next(0)).toBeUndefined();
    expect(timetable('0 0 12 * * ?', 'Europe/Berlin').next(Date.UTC(2100, 0, 1))).toBeUndefined();
  });
});
