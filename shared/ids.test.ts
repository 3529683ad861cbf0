import { describe, expect, it } from 'vitest';
import { idFromBytes, idMaker, idToBytes, isId, newId, timeOfId } from './ids.js';

describe('idMaker', () => {
  it('makes the id of time, counter and random bytes, digit by digit', () => {
    let byte = 0;
    const next = idMaker((bytes) => bytes.forEach((_, i) => (bytes[i] = byte++ & 0xff)));
    expect(next(0x0123456789ab)).toBe('01234567-89ab-7000-8001-020304050607');
    expect(next(0x0123456789ab)).toBe('01234567-89ab-7001-8809-0a0b0c0d0e0f');
    expect(next(1)).toBe('01234567-89ab-7002-9011-121314151617');
    expect(next(0x0123456789ac)).toBe('01234567-89ac-7000-9819-1a1b1c1d1e1f');
  });

  it('sorts in the order of making, within a millisecond, beyond its counter and when the clock goes back', () => {
    const ids = Array.from({ length: 10_000 }, (_, i) => newId(1_800_000_000_000 - (i % 7)));
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.every(isId)).toBe(true);
    expect(timeOfId(ids[9_999] as string)).toBe(1_800_000_000_002);
  });

  it('keeps through its bytes', () => {
    const id = newId();
    expect(idFromBytes(idToBytes(id))).toBe(id);
  });
});
