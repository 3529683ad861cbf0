import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../shared/time/clock.js';
import { Journey } from './journey.js';
import type { Router } from './router.js';

/** Three trackers, of which the last one owns everything. */
const router: Router = {
  trackers: ['127.0.0.1:1', '127.0.0.1:2', '127.0.0.1:3'],
  live: [],
  connected: true,
  mapVersion: 0,
  ownerOf: () => '127.0.0.1:3',
  noteOwner: () => undefined,
  noteUnreachable: () => undefined,
  onChange: () => ({ close: () => undefined }),
  close: () => undefined,
};

describe('a journey', () => {
  it.each(['mail', ''])('of what concerns the group "%s" begins at an owner', (group) => {
    expect(new Journey(router, systemClock, 1_000).pick(group)).toBe('127.0.0.1:3');
  });

  it('goes on to others when the owner does not answer', () => {
    const journey = new Journey(router, systemClock, 1_000);
    journey.failed('127.0.0.1:3', 'NO_TRACKER');
    expect(journey.pick('')).toBe('127.0.0.1:1');
  });

  it('tries others only for the group that an address does not own', () => {
    const journey = new Journey(router, systemClock, 1_000);
    expect(journey.follow('mail', '127.0.0.1:3', '')).toBe(false);
    expect([journey.pick('mail'), journey.pick('print')]).toEqual(['127.0.0.1:1', '127.0.0.1:3']);
    journey.follow('mail', '127.0.0.1:1', '');
    journey.follow('mail', '127.0.0.1:2', '');
    // All were asked: again from the beginning.
    expect(journey.pick('mail')).toBe('127.0.0.1:3');
    journey.follow('mail', '127.0.0.1:3', '');
    expect(journey.pick('mail')).toBe('127.0.0.1:1');
  });

  it('goes to the owner that is named, of what names no group without telling others', () => {
    const noted: string[] = [];
    const journey = new Journey({ ...router, noteOwner: (group, address) => noted.push(`${group} ${address}`) }, systemClock, 1_000);
    expect(journey.follow('', '127.0.0.1:3', '127.0.0.1:2')).toBe(true);
    expect(journey.pick('')).toBe('127.0.0.1:2');
    expect(journey.follow('mail', '127.0.0.1:3', '127.0.0.1:1')).toBe(true);
    expect(journey.pick('mail')).toBe('127.0.0.1:1');
    expect(noted).toEqual(['mail 127.0.0.1:1']);
  });

  it('goes back to one that has refused when another names it as the owner, however often', () => {
    const journey = new Journey(router, systemClock, 1_000);
    for (let round = 0; round < 10; round++) {
      // It is taking the group over and does not say so.
      journey.follow('mail', '127.0.0.1:3', '');
      const other = journey.pick('mail') ?? '';
      if (other !== '127.0.0.1:3') journey.follow('mail', other, '127.0.0.1:3');
      expect(journey.pick('mail')).toBe('127.0.0.1:3');
    }
  });

  it('does not go back to whom it came from', () => {
    const journey = new Journey(router, systemClock, 1_000);
    expect(journey.follow('mail', '127.0.0.1:3', '127.0.0.1:3')).toBe(false);
    expect(journey.pick('mail')).toBe('127.0.0.1:1');
  });

  it('tries an owner that is named again, although it failed before', async () => {
    const journey = new Journey(router, systemClock, 1_000);
    journey.failed('127.0.0.1:2', 'DRAINING');
    expect(journey.follow('mail', '127.0.0.1:3', '127.0.0.1:2')).toBe(false);
    expect(journey.pick('mail')).toBe('127.0.0.1:1');
    expect(await journey.next(false)).toBe(true);
    expect(journey.pick('mail')).toBe('127.0.0.1:2');
  });

  it('does not stay with an owner that was named and does not answer', async () => {
    const journey = new Journey({ ...router, ownerOf: () => undefined }, systemClock, 1_000);
    journey.follow('mail', '127.0.0.1:1', '127.0.0.1:2');
    const tried: (string | undefined)[] = [];
    for (let round = 0; round < 2; round++) {
      tried.push(journey.pick('mail'));
      journey.failed(tried.at(-1) ?? '', 'NO_TRACKER');
      await journey.next(false);
    }
    expect(tried).toEqual(['127.0.0.1:2', '127.0.0.1:3']);
  });
});
