import { describe, expect, it } from 'vitest';
import { zoneOf } from './zone.js';

/** The offset by the fields that Intl shows, another way than the one under test. */
function offsetOf(format: Intl.DateTimeFormat, at: number): number {
  const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] = format.format(at).match(/\d+/g)?.map(Number) ?? [];
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1_000) * 1_000;
}

const formatOf = (timeZone: string): Intl.DateTimeFormat => new Intl.DateTimeFormat('en-US', { timeZone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' });

describe('a zone', () => {
  // Two changes within a week, an offset with seconds, a missing day, two changes a year that follow the moon.
  it.each([
    ['America/Boa_Vista', 2000],
    ['Africa/Monrovia', 1972],
    ['Pacific/Apia', 2011],
    ['Africa/Casablanca', 2030],
    ['Europe/Berlin', 2099],
  ])('%s has the offset of every half hour of %i', (name, year) => {
    const [zone, format] = [zoneOf(name), formatOf(name)];
    const wrong: string[] = [];
    for (let at = Date.UTC(year, 0, 1) - 1_800_000; at < Date.UTC(year + 1, 0, 1); at += 1_800_000) if (zone.at(at).offset !== offsetOf(format, at)) wrong.push(new Date(at).toISOString());
    expect(wrong).toEqual([]);
  });

  it('is divided into stretches that meet, each with the offset of its neighbours', () => {
    for (const name of ['Europe/Berlin', 'Asia/Kathmandu', 'America/Boa_Vista', 'UTC']) {
      const zone = zoneOf(name);
      for (let stretch = zone.at(Date.UTC(1999, 0, 1)); stretch.end < Date.UTC(2010, 0, 1); ) {
        const next = zone.at(stretch.end);
        expect([next.start, next.before, next.offset]).toEqual([stretch.end, stretch.offset, stretch.after]);
        expect(zone.at(stretch.end - 1)).toEqual(stretch);
        stretch = next;
      }
    }
  });

  it('is one for all who ask', () => {
    expect(zoneOf('europe/berlin')).toBe(zoneOf('Europe/Berlin'));
    expect(zoneOf('')).toBe(zoneOf('UTC'));
  });
});
