import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../shared/time/clock.js';
import { Journey } from './journey.js';
import type { Router } from './router.js';

/** Three trackers, of which the last one owns everything. */
const router: Router = {
  trackers: ['127.0.0.1:1', '127.0.0.1:2', '127.0.0.1:3'],
  live: [],
  connected: true,
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
});
