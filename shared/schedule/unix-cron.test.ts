import { CronExpressionParser } from 'cron-parser';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unixCrons } from '../../test/kit/random-cron.js';
import { cron } from './cron.js';

const from = Date.UTC(2026, 0, 1);

function fires(expression: string, count: number): string[] {
  const timetable = cron({ expression, dialect: 'UNIX', zone: '', gap: 'DEFAULT', overlap: 'DEFAULT', spread: '' });
  const found: string[] = [];
  for (let next = timetable.next(from); next !== undefined && found.length < count; next = timetable.next(next + 1)) found.push(new Date(next).toISOString().slice(0, 16));
  return found;
}

describe('an expression in dialect UNIX', () => {
  it.each<[string, string[]]>([
    ['30 4 1,15 * 5', ['2026-01-01T04:30', '2026-01-02T04:30', '2026-01-09T04:30', '2026-01-15T04:30']],
    ['0 12 * * 2', ['2026-01-06T12:00', '2026-01-13T12:00']],
    ['0 12 * * 0', ['2026-01-04T12:00', '2026-01-11T12:00']],
    ['0 12 * * 7', ['2026-01-04T12:00', '2026-01-11T12:00']],
    ['0 12 * * 0,7', ['2026-01-04T12:00', '2026-01-11T12:00']],
    ['0 12 * * 5-7', ['2026-01-02T12:00', '2026-01-03T12:00', '2026-01-04T12:00', '2026-01-09T12:00']],
    ['0 12 * * FRI-SUN', ['2026-01-02T12:00', '2026-01-03T12:00', '2026-01-04T12:00', '2026-01-09T12:00']],
    ['0 12 * * mon-Fri', ['2026-01-01T12:00', '2026-01-02T12:00', '2026-01-05T12:00']],
    ['0 12 * * MON,wed', ['2026-01-05T12:00', '2026-01-07T12:00']],
    ['0 12 * * */2', ['2026-01-01T12:00', '2026-01-03T12:00', '2026-01-04T12:00', '2026-01-06T12:00']],
    ['0 12 * jan,JUL-aug 1', ['2026-01-05T12:00', '2026-01-12T12:00', '2026-01-19T12:00', '2026-01-26T12:00', '2026-07-06T12:00']],
    ['0 0-23/8 1 1 *', ['2026-01-01T00:00', '2026-01-01T08:00', '2026-01-01T16:00', '2027-01-01T00:00']],
    ['*/60 */24 1 1 *', ['2026-01-01T00:00', '2027-01-01T00:00']],
    ['*/25 0 1 1 *', ['2026-01-01T00:00', '2026-01-01T00:25', '2026-01-01T00:50', '2027-01-01T00:00']],
    ['1,1,1-2 0 1 1 *', ['2026-01-01T00:01', '2026-01-01T00:02', '2027-01-01T00:01']],
    // Neither day field begins with a star: one of them is enough.
    ['0 0 13 * 5', ['2026-01-02T00:00', '2026-01-09T00:00', '2026-01-13T00:00', '2026-01-16T00:00']],
    // One begins with a star: both have to fit.
    ['0 0 */2 * 1', ['2026-01-05T00:00', '2026-01-19T00:00', '2026-02-09T00:00']],
    ['0 0 13 * */5', ['2026-02-13T00:00', '2026-03-13T00:00', '2026-09-13T00:00']],
    ['0 0 29 2 */5', ['2032-02-29T00:00', '2036-02-29T00:00', '2060-02-29T00:00']],
    ['0  0\t1 1 *', ['2026-01-01T00:00', '2027-01-01T00:00']],
    ['00 09 01 01 *', ['2026-01-01T09:00', '2027-01-01T09:00']],
  ])('%s', (expression, expected) => {
    expect(fires(expression, expected.length)).toEqual(expected);
  });

  it.each([['0 0 30 2 *'], ['0 0 31 4,6,9,11 *']])('%s never fires', (expression) => {
    expect(fires(expression, 1)).toEqual([]);
  });

  it.each([
    ['60 * * * *', 'at "60": the minute is 0 to 59'],
    ['* 24 * * *', 'the hour is 0 to 23'],
    ['* * 0 * *', 'the day of month is 1 to 31'],
    ['* * * 0 *', 'the month is 1 to 12'],
    ['* * * * 8', 'the day of week is 0 to 7, or SUN to SAT'],
    ['* * * * MONDAY', 'the day of week is 0 to 7, or SUN to SAT'],
    ['* * * MON *', 'the month is 1 to 12, or JAN to DEC'],
    ['*/90 * * * *', 'the minute has 60 values, so a step of 90 does not mean every 90; for a longer interval use @every'],
    ['5/15 * * * *', 'at "5/15": write 5-59/15'],
    ['/15 * * * *', 'write */15'],
    ['*/0 * * * *', 'a step is 1 or more'],
    ['50-10 * * * *', 'write 50-59,0-10'],
    ['0 12 ? * 2', 'at "?": ?, L, W and # belong to dialect QUARTZ'],
    ['0 12 L * *', 'belong to dialect QUARTZ'],
    ['0 12 15W * *', 'belong to dialect QUARTZ'],
    ['0 12 * * 5#3', 'belong to dialect QUARTZ'],
    ['0 12 * *', 'UNIX has 5 fields (minute, hour, day of month, month, day of week), not 4'],
    ['0 0 12 * * ?', 'not 6; with seconds it is dialect QUARTZ'],
    ['0 12 * * *,', 'the day of week takes values 0-7'],
    ['a b c d e', 'at "a": the minute is 0 to 59'],
  ])('%s: %s', (expression, message) => {
    expect(() => fires(expression, 1)).toThrow(expect.objectContaining({ reason: 'CRON_INVALID', message: expect.stringContaining(message) }));
  });

  // cron-parser is right here, but refuses what it calls duplicates, and reads a star with a step among the days as a
  // restriction, which cronie does not.
  it('fires in UTC when cron-parser says so', () => {
    let compared = 0;
    fc.assert(
      fc.property(unixCrons, ({ text }) => {
        const [, , day = '', , weekday = ''] = text.split(' ');
        fc.pre(!day.startsWith('*/') && !weekday.startsWith('*/') && !text.includes(',') && !/[07]/.test(weekday) && !weekday.includes('SUN'));
        let theirs: string[];
        try {
          theirs = CronExpressionParser.parse(text, { currentDate: new Date(from - 1), tz: 'UTC' }).take(4).map((date) => date.toDate().toISOString().slice(0, 16));
        } catch {
          // It refuses what never fires.
          expect(fires(text, 1), `of ${text}`).toEqual([]);
          return;
        }
        compared += 1;
        expect(fires(text, 4), `of ${text}`).toEqual(theirs);
      }),
      { numRuns: 500 },
    );
    expect(compared).toBeGreaterThan(400);
  });
});
