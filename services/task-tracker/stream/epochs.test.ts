import { describe, expect, it } from 'vitest';
import { Epochs } from './epochs.js';

describe('Epochs', () => {
  it('only grow, by store and partition', () => {
    const epochs = new Epochs();
    expect(epochs.raise('s', 0, 5)).toBeUndefined();
    expect(epochs.raise('s', 0, 5)).toBeUndefined();
    expect(epochs.raise('s', 0, 4)).toBe(5);
    expect(epochs.raise('s', 1, 4)).toBeUndefined();
    expect(epochs.raise('other', 0, 1)).toBeUndefined();
    expect(epochs.raise('s', 0, 6)).toBeUndefined();
    expect(epochs.raise('s', 0, 5)).toBe(6);
  });
});
