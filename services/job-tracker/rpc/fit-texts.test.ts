import { describe, expect, it } from 'vitest';
import { fitText, textLimit } from './fit-texts.js';

describe('fitText', () => {
  it('leaves what fits', () => {
    expect(fitText('x'.repeat(100), 100)).toBe('x'.repeat(100));
    expect(fitText('', 100)).toBe('');
  });

  it('cuts and marks what does not, at a whole character', () => {
    const cut = fitText('€'.repeat(100), 101);
    expect(cut).toMatch(/^€+… \[truncated\]$/);
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(101);
  });

  it('gives many texts less each, so that all fit into one message', () => {
    expect(textLimit(1)).toBeGreaterThan(64 * 1024);
    expect(textLimit(2_000) * 2_000).toBeLessThanOrEqual(2 * 1024 * 1024);
  });
});
