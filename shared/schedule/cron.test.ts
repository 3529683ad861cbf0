import { describe, expect, it } from 'vitest';
import { cron, type CronDialect } from './cron.js';

function fires(expression: string, { dialect = 'AUTO', spread = '', zone = '', from = '2026-01-01T00:00:00Z', count = 2 }: { dialect?: CronDialect; spread?: string; zone?: string; from?: string; count?: number } = {}): string[] {
  const timetable = cron({ expression, dialect, zone, gap: 'DEFAULT', overlap: 'DEFAULT', spread });
  const found: string[] = [];
  for (let next = timetable.next(Date.parse(from)); next !== undefined && found.length < count; next = timetable.next(next + 1)) found.push(new Date(next).toISOString().slice(0, 19));
  return found;
}

const refused = (message: string): unknown => expect.objectContaining({ reason: 'CRON_INVALID', message: expect.stringContaining(message) });

describe('dialect AUTO', () => {
  it.each<[string, string[]]>([
    ['0 12 * * 2', ['2026-01-06T12:00:00', '2026-01-13T12:00:00']],
    ['0 0 12 ? * 2', ['2026-01-05T12:00:00', '2026-01-12T12:00:00']],
    ['0 0 12 * * ? 2027', ['2027-01-01T12:00:00', '2027-01-02T12:00:00']],
    ['  0 12 * * 2  ', ['2026-01-06T12:00:00', '2026-01-13T12:00:00']],
  ])('reads %s', (expression, expected) => {
    expect(fires(expression)).toEqual(expected);
  });

  it.each([
    ['0 0 12 * * 2', 'write "0 0 12 ? * 2" (dialect QUARTZ, which begins with the seconds, day 2 is MON) or "0 12 * * 2" (dialect UNIX, which has no seconds, day 2 is TUE)'],
    ['0 0 12 * * 1-5', 'day 1 is SUN) or "0 12 * * 1-5" (dialect UNIX, which has no seconds, day 1 is MON)'],
    ['0 0 12 * * 7', 'day 7 is SAT) or "0 12 * * 7" (dialect UNIX, which has no seconds, day 7 is SUN)'],
    ['0 0 12 * * *', 'write "0 0 12 * * ?" (dialect QUARTZ, which begins with the seconds) or "0 12 * * *" (dialect UNIX'],
    ['*/5 0 12 * * MON', 'write "*/5 0 12 ? * MON" (dialect QUARTZ, which begins with the seconds) or five fields without "*/5" (dialect UNIX, which has no seconds)'],
    ['0 0 12 1 * 2', 'which takes only one of the two day fields'],
    ['0 12 * *', 'not of 4'],
    ['0 12 * * * * * *', 'not of 8'],
    ['0 12 ? * 2', 'belong to dialect QUARTZ'],
  ])('does not guess what %s is', (expression, message) => {
    expect(() => fires(expression)).toThrow(refused(message));
  });
});

describe('any dialect', () => {
  it.each([
    ['', 'is empty'],
    ['   ', 'is empty'],
    ['@Fortnightly', 'at "@Fortnightly"'],
    ['0 12 * * *\n', 'at "\\n": only letters, digits, signs, spaces and tabs are possible, on one line'],
    ['0 12\u00a0* * *', 'on one line'],
    ['0 12 * * \u0000', 'on one line'],
    ['0 12 * * 😀', 'on one line'],
    [`0 12 * * ${'1,'.repeat(150)}1`, 'has 310 characters, at most 256 are possible'],
    ['@reboot', 'there are @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly, and @every 90s'],
    ['@constructor', 'there are @yearly'],
  ])('refuses %j', (expression, message) => {
    expect(() => fires(expression)).toThrow(refused(message));
    expect(() => fires(expression, { dialect: 'QUARTZ' })).toThrow(refused(message));
  });

  it('fires from 1970 to 2099', () => {
    expect(fires('0 12 * * *', { from: '1950-01-01T00:00:00Z', count: 1 })).toEqual(['1970-01-01T12:00:00']);
    expect(fires('0 12 * * *', { from: '2099-12-31T00:00:00Z' })).toEqual(['2099-12-31T12:00:00']);
  });

  it('takes 256 characters', () => {
    expect(fires(`0 12 * * ${'1,'.repeat(123)}1`.padEnd(256))).toEqual(['2026-01-05T12:00:00', '2026-01-12T12:00:00']);
  });

  it('refuses a zone that is none', () => {
    for (const zone of ['Mars/Base', '+02:00', 'Europe/Berlin ', '../etc']) expect(() => fires('0 12 * * *', { zone })).toThrow(expect.objectContaining({ reason: 'INVALID_ARGUMENT', message: expect.stringContaining('time zone "') }));
  });

  it('takes the name of a zone in any case', () => {
    expect(fires('0 12 * * *', { zone: 'europe/BERLIN' })).toEqual(fires('0 12 * * *', { zone: 'Europe/Berlin' }));
    expect(fires('0 12 * * *', { zone: 'Europe/Berlin' })).toEqual(['2026-01-01T11:00:00', '2026-01-02T11:00:00']);
  });

  it.each<[string, string[]]>([
    ['@yearly', ['2026-01-01T00:00:00', '2027-01-01T00:00:00']],
    ['@annually', ['2026-01-01T00:00:00', '2027-01-01T00:00:00']],
    ['@monthly', ['2026-01-01T00:00:00', '2026-02-01T00:00:00']],
    ['@weekly', ['2026-01-04T00:00:00', '2026-01-11T00:00:00']],
    ['@daily', ['2026-01-01T00:00:00', '2026-01-02T00:00:00']],
    ['@Midnight', ['2026-01-01T00:00:00', '2026-01-02T00:00:00']],
    ['@HOURLY', ['2026-01-01T00:00:00', '2026-01-01T01:00:00']],
  ])('reads %s', (expression, expected) => {
    for (const dialect of ['AUTO', 'UNIX', 'QUARTZ'] as const) expect(fires(expression, { dialect })).toEqual(expected);
  });

  it('takes every hour as it comes with @hourly, and @daily once a day', () => {
    const zone = 'America/Sao_Paulo';
    expect(fires('@hourly', { zone, from: '2018-02-18T01:00:00Z', count: 3 })).toEqual(['2018-02-18T01:00:00', '2018-02-18T02:00:00', '2018-02-18T03:00:00']);
    expect(fires('@daily', { zone, from: '2018-11-03T04:00:00Z', count: 2 })).toEqual(['2018-11-04T03:00:00', '2018-11-05T02:00:00']);
  });
});

describe('@every', () => {
  it.each<[string, string[]]>([
    ['@every 90s', ['2026-01-01T00:00:00', '2026-01-01T00:01:30']],
    ['@every 1h30m', ['2026-01-01T00:00:00', '2026-01-01T01:30:00']],
    ['@EVERY 1H', ['2026-01-01T00:00:00', '2026-01-01T01:00:00']],
    ['@every 2d', ['2026-01-01T00:00:00', '2026-01-03T00:00:00']],
    ['@every 11s', ['2026-01-01T00:00:03', '2026-01-01T00:00:14']],
  ])('%s fires on a grid from 1970 on', (expression, expected) => {
    expect(fires(expression)).toEqual(expected);
  });

  it('is shifted by what it is spread by, by whole seconds and less than the interval', () => {
    const shifts = Array.from({ length: 200 }, (_, index) => Date.parse(`${fires('@every 1h', { spread: `demo/task-${index}` })[0]}Z`) - Date.parse('2026-01-01T00:00:00Z'));
    expect(shifts.every((shift) => shift >= 0 && shift < 3_600_000 && shift % 1_000 === 0)).toBe(true);
    expect(new Set(shifts).size).toBeGreaterThan(150);
  });

  it.each([['@every'], ['@every 5'], ['@every 0s'], ['@every 500ms'], ['@every 1.5h'], ['@every -1h'], ['@every 999999999d'], ['@every90s'], ['@every 1h 30m']])('refuses %s', (expression) => {
    expect(() => fires(expression)).toThrow(refused('@every'));
  });
});

describe('H', () => {
  const spreads = Array.from({ length: 600 }, (_, index) => `demo/task-${index}`);
  const minuteOf = (expression: string, spread: string): number => Number(fires(expression, { spread })[0]?.slice(14, 16));

  it('is the same for the same text, whatever process or time', () => {
    expect(fires('H H * * *', { spread: 'shop/invoice' })).toEqual(['2026-01-01T10:45:00', '2026-01-02T10:45:00']);
    expect(fires('H H H * * ?', { spread: 'shop/invoice' })).toEqual(['2026-01-01T10:45:42', '2026-01-02T10:45:42']);
  });

  it('is spread over the whole field, evenly', () => {
    const counts = new Map<number, number>();
    for (const spread of spreads) counts.set(minuteOf('H * * * *', spread), (counts.get(minuteOf('H * * * *', spread)) ?? 0) + 1);
    expect(counts.size).toBe(60);
    expect(Math.max(...counts.values())).toBeLessThan(30);
  });

  it('stays within its range, and with a step begins below the step', () => {
    for (const spread of spreads.slice(0, 100)) {
      expect(minuteOf('H(10-19) * * * *', spread)).toBeGreaterThanOrEqual(10);
      expect(minuteOf('H(10-19) * * * *', spread)).toBeLessThanOrEqual(19);
      const steps = fires('H/15 * * * *', { spread, count: 5 }).map((at) => Number(at.slice(14, 16)));
      expect(steps).toEqual([0, 15, 30, 45, 60].map((by) => ((steps[0] ?? 0) + by) % 60));
      expect(steps[0]).toBeLessThan(15);
      expect(fires('H(30-59)/10 5 * * *', { spread, count: 3 }).map((at) => Math.floor(Number(at.slice(14, 16)) / 10))).toEqual([3, 4, 5]);
    }
  });

  it('is a day that every month has, and a day of the week', () => {
    const [unix, quartz] = [new Set<number>(), new Set<number>()];
    for (const spread of spreads.slice(0, 100)) {
      expect(new Set(fires('0 0 H * *', { spread, count: 12 }).map((at) => at.slice(0, 7))).size).toBe(12);
      unix.add(new Date(`${fires('0 0 * * H', { spread })[0]}Z`).getUTCDay());
      quartz.add(new Date(`${fires('0 0 0 ? * H', { spread })[0]}Z`).getUTCDay());
    }
    expect([unix.size, quartz.size]).toEqual([7, 7]);
  });

  it('is the lowest value without a text to spread by', () => {
    expect(fires('H H(3-5) * * *')).toEqual(['2026-01-01T03:00:00', '2026-01-02T03:00:00']);
  });

  it.each([['H(5) * * * *'], ['H(20-10) * * * *'], ['H(0-60) * * * *'], ['H5 * * * *'], ['H-5 * * * *'], ['H/90 * * * *']])('refuses %s', (expression) => {
    expect(() => fires(expression)).toThrow(refused('at "H'));
  });
});
