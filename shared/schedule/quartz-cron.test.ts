import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../package-root.js';
import { cron } from './cron.js';

function fires(expression: string, from: string, count: number): string[] {
  const timetable = cron({ expression, dialect: 'QUARTZ', zone: '', gap: 'DEFAULT', overlap: 'DEFAULT', spread: '' });
  const found: string[] = [];
  for (let next = timetable.next(Date.parse(from)); next !== undefined && found.length < count; next = timetable.next(next + 1)) {
    found.push(new Date(next).toISOString().replace('.000Z', 'Z'));
  }
  return found;
}

/** The days at `time`, given as month-day of 2026 or as year-month-day. */
const at = (time: string, ...days: string[]): string[] => days.map((day) => `${day.length === 5 ? `2026-${day}` : day}T${time}Z`);

// Expression, first instant (included), fires: up to five, as Quartz 2.4 itself computes them.
const rows = readFileSync(join(packageRoot, 'shared/schedule/quartz-cron.fixture.tsv'), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => line.split('\t') as [string, string, string]);

describe('the times of Quartz', () => {
  it('are there to compare with', () => {
    expect(rows.length).toBeGreaterThanOrEqual(147);
  });

  it.each(rows)('%s from %s', (expression, from, expected) => {
    expect(fires(expression, from, 5)).toEqual(expected.trim() === 'none' ? [] : expected.trim().split(' '));
  });
});

describe('an expression in dialect QUARTZ', () => {
  it.each<[string, string[]]>([
    ['0 0 12 ? * 2', at('12:00:00', '01-05', '01-12')],
    ['0 0 12 ? * 1', at('12:00:00', '01-04', '01-11')],
    ['0 0 12 ? * 7', at('12:00:00', '01-03', '01-10')],
    ['0 0 12 ? * 1-5', at('12:00:00', '01-01', '01-04', '01-05', '01-06', '01-07', '01-08', '01-11')],
    ['0 0 12 ? * 2-6', at('12:00:00', '01-01', '01-02', '01-05')],
    ['0 0 12 ? * MON-FRI', at('12:00:00', '01-01', '01-02', '01-05')],
    ['0 0 12 ? * sun', at('12:00:00', '01-04')],
    ['0 0 12 ? * 6L', at('12:00:00', '01-30', '02-27')],
    ['0 0 12 ? * FRIL', at('12:00:00', '01-30', '02-27')],
    ['0 0 12 ? * 6#3', at('12:00:00', '01-16', '02-20')],
    ['0 0 12 ? * MON#1', at('12:00:00', '01-05', '02-02')],
    ['0 0 12 ? * 7#1', at('12:00:00', '01-03', '02-07')],
    ['0 0 12 ? * 5#5', at('12:00:00', '01-29', '04-30', '07-30')],
    ['0 0 0 ? * 2/2', at('00:00:00', '01-02', '01-05', '01-07', '01-09')],
    ['0 0 0 ? 1/3 1', at('00:00:00', '01-04', '01-11', '01-18', '01-25', '04-05')],
    ['0 0 12 ? JAN,JUL 2', at('12:00:00', '01-05', '01-12', '01-19', '01-26', '07-06')],
    ['0 0 12 ? * L', at('12:00:00', '01-03', '01-10')],
    ['0 0 12 L * ?', at('12:00:00', '01-31', '02-28', '03-31')],
    ['0 0 12 L-3 * ?', at('12:00:00', '01-28', '02-25')],
    ['0 0 12 L-30 * ?', at('12:00:00', '01-01', '03-01', '05-01')],
    ['0 0 12 LW * ?', at('12:00:00', '01-30', '02-27', '03-31')],
    ['0 0 12 L-2W * ?', at('12:00:00', '01-29', '02-26', '03-30')],
    ['0 0 12 15W * ?', at('12:00:00', '01-15', '02-16', '03-16')],
    ['0 0 12 1W * ?', at('12:00:00', '01-01', '02-02', '03-02', '04-01', '05-01', '06-01', '07-01', '08-03')],
    ['0 0 12 31W 2,4,5 ?', at('12:00:00', '05-29')],
    ['0 0 12 1,15,L * ?', at('12:00:00', '01-01', '01-15', '01-31', '02-01')],
    ['0 0 12 * * ? 2027', at('12:00:00', '2027-01-01')],
    ['0 0 0 1 1 ? 2026-2028', at('00:00:00', '01-01', '2027-01-01', '2028-01-01')],
    ['0 0 0 1 1 ? 2026/2', at('00:00:00', '01-01', '2028-01-01', '2030-01-01')],
    ['0 0 22-2 * * ?', ['2026-01-01T00:00:00Z', '2026-01-01T01:00:00Z', '2026-01-01T02:00:00Z', '2026-01-01T22:00:00Z', '2026-01-01T23:00:00Z']],
    ['0 0 0 ? * FRI-MON', at('00:00:00', '01-02', '01-03', '01-04', '01-05', '01-09')],
    ['0 0 0 ? * 5-2', at('00:00:00', '01-01', '01-02', '01-03', '01-04', '01-05', '01-08')],
    ['0 0 0 1 NOV-FEB ?', at('00:00:00', '01-01', '02-01', '11-01', '12-01', '2027-01-01')],
    ['0 0 12 ? * 2,4#2', at('12:00:00', '01-12', '02-09')],
    ['0 5/15 12 1 1 ?', ['2026-01-01T12:05:00Z', '2026-01-01T12:20:00Z', '2026-01-01T12:35:00Z', '2026-01-01T12:50:00Z', '2027-01-01T12:05:00Z']],
    ['0 /20 12 1 1 ?', ['2026-01-01T12:00:00Z', '2026-01-01T12:20:00Z', '2026-01-01T12:40:00Z', '2027-01-01T12:00:00Z']],
    ['0 0 0 1/10 * ?', at('00:00:00', '01-01', '01-11', '01-21', '01-31', '02-01')],
    ['0 0 0 ? * 7/6', at('00:00:00', '01-03', '01-10')],
    ['0 0 0 */24 * ?', at('00:00:00', '01-01', '01-25', '02-01')],
    ['0 0 0 29 2 ?', at('00:00:00', '2028-02-29', '2032-02-29')],
    ['0 0 0 * * ? *', at('00:00:00', '01-01', '01-02')],
  ])('%s', (expression, expected) => {
    expect(fires(expression, '2026-01-01T00:00:00Z', expected.length)).toEqual(expected);
  });

  it.each([['0 0 12 30 2 ?'], ['0 0 12 31 4,6 ?'], ['0 0 12 * * ? 2020'], ['0 0 12 ? 2 2#5 2027']])('%s never fires', (expression) => {
    expect(fires(expression, '2026-01-01T00:00:00Z', 1)).toEqual([]);
  });

  // Quartz's own way with several times a day: what it has reached of the day stays, and a Sunday's stand-in fires once.
  it('keeps the hour on its way to a W day, and takes one time only on the Monday for a Sunday', () => {
    expect(fires('0 0 9,18 LW * ?', '2026-04-11T14:00:00Z', 3)).toEqual(['2026-04-30T18:00:00Z', '2026-05-29T09:00:00Z', '2026-05-29T18:00:00Z']);
    expect(fires('0 0 9,18 9W * ?', '2026-08-01T00:00:00Z', 3)).toEqual(['2026-08-10T09:00:00Z', '2026-09-09T09:00:00Z', '2026-09-09T18:00:00Z']);
  });

  it('goes on with the next month once the Friday for a Saturday is over', () => {
    expect(fires('0 0 9,18 15W * ?', '2026-08-14T12:00:00Z', 3)).toEqual(['2026-08-14T18:00:00Z', '2026-09-15T09:00:00Z', '2026-09-15T18:00:00Z']);
  });

  it('finds a single time of a W day from any instant before it', () => {
    expect(fires('0 0 9 9W * ?', '2026-08-10T08:00:00Z', 2)).toEqual(['2026-08-10T09:00:00Z', '2026-09-09T09:00:00Z']);
  });

  it.each([
    ['0 0 12 1 * 2', '"1 … 2": exactly one of day of month and day of week is ?'],
    ['0 0 12 1 * MON', 'exactly one of day of month and day of week is ?'],
    ['0 0 12 * * *', 'exactly one of day of month and day of week is ?'],
    ['0 0 12 ? * ?', 'exactly one of day of month and day of week is ?'],
    ['0 0/70 * * * ?', 'at "0/70": the minute has 60 values, so a step of 70 does not mean every 70'],
    ['0 */90 * * * ?', 'for a longer interval use @every'],
    ['0 */60 * * * ?', 'a step of 60'],
    ['0 0 */24 * * ?', 'a step of 24'],
    ['0 0 12 ? * 0', 'at "0": the day of week is 1 to 7, or SUN to SAT'],
    ['0 0 12 ? * 8', 'the day of week is 1 to 7'],
    ['0 12 * * *', 'QUARTZ has 6 or 7 fields (second, minute, hour, day of month, month, day of week, year), not 5; without seconds it is dialect UNIX'],
    ['0 0 12 * * ? 2026 7', 'not 8'],
    ['60 0 0 * * ?', 'at "60": the second is 0 to 59'],
    ['0 0 24 * * ?', 'at "24": the hour is 0 to 23'],
    ['0 0 12 32 * ?', 'the day of month is 1 to 31'],
    ['0 0 12 0W * ?', 'the day of month is 1 to 31'],
    ['0 0 12 L-31 * ?', 'at most 30 days before the last one'],
    ['0 0 12 * 13 ?', 'the month is 1 to 12, or JAN to DEC'],
    ['0 0 12 * JANUARY ?', 'the month is 1 to 12'],
    ['0 0 12 * * ? 2100', 'the year is 1970 to 2099'],
    ['0 0 12 * * ? 2028-2026', 'a range goes from the smaller to the greater value'],
    ['0 0 12 * * ? H', 'H is not for the year'],
    ['0 0 12 ? * 6L,2', 'write L, 6L or FRIL without a list'],
    ['0 0 12 ? * 2#1,4#2', 'at "2#1'],
    ['0 0 12 ? * 6#6', '6#1 to 6#5'],
    ['0 0 12 ? * MON-FRI/2', 'Quartz does not mix names with numbers and ignores the step of a name: write 2-6/2'],
    ['0 0 12 ? * 2-FRI', 'write 2-6/1'],
    ['0 0 12 ?,5 * ?', 'at "?"'],
    ['0 ? 12 * * ?', 'at "?"'],
    ['0 0,, 12 * * ?', 'the minute takes values 0-59'],
    ['0 5/0 * * * ?', 'a step is 1 or more'],
    ['0 1-2-3 * * * ?', 'at "1-2-3"'],
    ['0 -5 * * * ?', 'at "-5"'],
    ['0 5L * * * ?', 'at "5L"'],
  ])('%s: %s', (expression, message) => {
    expect(() => fires(expression, '2026-01-01T00:00:00Z', 1)).toThrow(expect.objectContaining({ reason: 'CRON_INVALID', message: expect.stringContaining(message) }));
  });
});
