import { describe, expect, it } from 'vitest';
import { cron } from './cron.js';
import { formatInstant, formatLocal, parseInstant } from './instant.js';
import { preview, previewFires } from './preview.js';
import { parseTimeOfDay, parseWeekdays } from './window-text.js';

const now = Date.parse('2026-01-01T00:00:00Z');

describe('a preview by JSON', () => {
  it.each<[unknown, unknown]>([
    [{ cron: '0 0 12 ? * 2', from: '2026-01-05T12:00:00Z', count: 2 }, { fires: ['2026-01-05T12:00:00Z', '2026-01-12T12:00:00Z'] }],
    [{ cron: '0 12 * * *', count: 1 }, { fires: ['2026-01-01T12:00:00Z'] }],
    [{ cron: '0 12 * * *', dialect: 'Unix', zone: 'Asia/Kathmandu', count: 1 }, { fires: ['2026-01-01T06:15:00Z'] }],
    [{ cron: '0 12 * * *', dialect: null, zone: null, from: null, count: 1, gap: null, overlap: null, spread: null }, { fires: ['2026-01-01T12:00:00Z'] }],
    [{ cron: '0 12 * * *', from: 1_767_225_600_000, count: 1 }, { fires: ['2026-01-01T12:00:00Z'] }],
    [{ cron: '0 12 * * *', from: '2026-01-01T13:00:00.001+01:00', count: 1 }, { fires: ['2026-01-02T12:00:00Z'] }],
    [{ cron: '0 30 2 * * ?', zone: 'America/New_York', from: '2026-03-08', count: 1, gap: 'run-before' }, { fires: ['2026-03-08T06:59:59Z'] }],
    [{ cron: '0 0 12 30 2 ?' }, { fires: [] }],
    [{ cron: 'H * * * *', spread: 'shop/invoice', count: 1 }, { fires: [expect.stringMatching(/^2026-01-01T00:\d\d:00Z$/)] }],
  ])('%j', (request, answer) => {
    expect(preview(request, now)).toEqual(answer);
  });

  it('shows ten fires unless told otherwise', () => {
    expect(preview({ cron: '* * * * *' }, now)).toMatchObject({ fires: { length: 10 } });
  });

  it.each<[unknown, string]>([
    [{}, 'cron: '],
    [null, 'not a request such as'],
    [[], 'not a request such as'],
    [{ cron: 7 }, 'cron: '],
    [{ cron: '0 12 * * *', timezone: 'Europe/Berlin' }, 'timezone'],
    [{ cron: '0 12 * * *', dialect: 'spring' }, 'dialect: '],
    [{ cron: '0 12 * * *', zone: 'Mars/Base' }, 'time zone "Mars/Base" is not known'],
    [{ cron: '0 12 * * *', from: 'yesterday' }, 'from "yesterday" is not an instant'],
    [{ cron: '0 12 * * *', from: '2026-02-30T00:00:00Z' }, 'is not an instant'],
    [{ cron: '0 12 * * *', from: '2026-02-01T00:00:00' }, 'is not an instant'],
    [{ cron: '0 12 * * *', count: 0 }, 'count is 1 to 10,000, not 0'],
    [{ cron: '0 12 * * *', count: 10_001 }, 'count is 1 to 10,000'],
    [{ cron: '0 12 * * *', count: 1.5 }, 'count is 1 to 10,000'],
    [{ cron: '0 0 12 * * 2' }, 'can be read in two ways'],
  ])('says what is wrong with %j', (request, message) => {
    expect(preview(request, now)).toEqual({ error: expect.stringContaining(message) });
  });
});

describe('the notes of a preview', () => {
  const notes = (expression: string, zone: string, from: string, count: number, policies: { gap?: 'RUN_BEFORE'; overlap?: 'BOTH' } = {}): string[] =>
    previewFires(cron({ expression, dialect: 'AUTO', zone, gap: 'DEFAULT', overlap: 'DEFAULT', spread: '', ...policies }), zone, Date.parse(from), count).map(({ at, offset, note }) => `${formatLocal(at, offset)} ${note}`.trim());

  it('mark a fire that a forward jump moved, and the first after a jump', () => {
    expect(notes('30 2 * * *', 'Europe/Berlin', '2026-03-28T00:00:00Z', 3)).toEqual(['2026-03-28T02:30:00+01:00', '2026-03-29T03:00:00+02:00 clocks go forward 1h at this instant', '2026-03-30T02:30:00+02:00']);
    expect(notes('0 12 * * *', 'Europe/Berlin', '2026-03-28T00:00:00Z', 2)).toEqual(['2026-03-28T12:00:00+01:00', '2026-03-29T12:00:00+02:00 clocks went forward 1h']);
    expect(notes('30 2 * * *', 'Europe/Berlin', '2026-03-29T00:00:00Z', 1, { gap: 'RUN_BEFORE' })).toEqual(['2026-03-29T01:59:59+01:00 clocks go forward 1h a second later']);
  });

  it('mark times that come twice', () => {
    expect(notes('45 1 * * *', 'Australia/Lord_Howe', '2026-04-04T13:00:00Z', 2, { overlap: 'BOTH' })).toEqual(['2026-04-05T01:45:00+11:00 first of two: clocks go back 30m', '2026-04-05T01:45:00+10:30 second of two: clocks went back 30m']);
  });
});

describe('an instant', () => {
  it.each<[string | number, number | undefined]>([
    ['2026-01-01', now],
    ['2026-01-01T00:00Z', now],
    ['2026-01-01t01:00:00.5+0100', now + 500],
    ['1767225600000', now],
    [now, now],
    [1.5, undefined],
    ['2026-13-01', undefined],
    ['2026-01-01T25:00:00Z', undefined],
    ['99999-01-01', undefined],
    ['', undefined],
  ])('is read from %j', (text, expected) => {
    expect(parseInstant(text)).toBe(expected);
  });

  it('is written in seconds unless it has milliseconds', () => {
    expect([formatInstant(now), formatInstant(now + 5), formatInstant(Number.NaN)]).toEqual(['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.005Z', undefined]);
    expect([formatLocal(now, 0), formatLocal(now, -9.5 * 3_600_000), formatLocal(now, -2_670_000)]).toEqual(['2026-01-01T00:00:00+00:00', '2025-12-31T14:30:00-09:30', '2025-12-31T23:15:30-00:44:30']);
  });
});

describe('the text of a window', () => {
  it('has times of the day', () => {
    expect(['09:00', '9:00:30', '23:59', '24:00', '24:01', '9', '09:60'].map(parseTimeOfDay)).toEqual([32_400_000, 32_430_000, 86_340_000, 86_399_999, undefined, undefined, undefined]);
  });

  it('has weekdays', () => {
    expect([['MON-FRI'], ['sat-Mon'], ['7', '1-2'], ['SUN'], []].map(parseWeekdays)).toEqual([[1, 2, 3, 4, 5], [1, 6, 7], [1, 2, 7], [7], []]);
    expect([['0'], ['MONDAY'], ['MON-'], ['MON-TUE-WED']].map(parseWeekdays)).toEqual([undefined, undefined, undefined, undefined]);
  });
});
