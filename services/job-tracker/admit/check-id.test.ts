import { describe, expect, it } from 'vitest';
import { newId } from '../../../shared/ids.js';
import { checkIdTime } from './check-id.js';

const day = 86_400_000;

describe('checkIdTime', () => {
  it.each([
    ['the future', 2 * day, /in the future/],
    ['before the retention', -8 * day, /older than the retention/],
  ])('refuses an id of %s', (_name, offsetMs, message) => {
    // newId never goes back: the clock is moved instead.
    const id = newId();
    const now = Date.now() - offsetMs;
    expect(() => checkIdTime(id, now, 7 * day)).toThrow(message);
  });

  it('takes an id of a clock that is an hour ahead or behind', () => {
    const id = newId();
    for (const offsetMs of [-3_600_000, 0, 3_600_000]) expect(() => checkIdTime(id, Date.now() - offsetMs, 7 * day)).not.toThrow();
  });
});
