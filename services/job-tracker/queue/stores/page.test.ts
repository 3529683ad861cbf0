import { describe, expect, it } from 'vitest';
import { page } from './page.js';

const rows = (count: number, length: number): string[] => Array.from({ length: count }, () => 'x'.repeat(length));
const itself = (row: string): string => row;

describe('page', () => {
  it('ends at the limit of rows', () => {
    expect(page(rows(3, 1), 2, itself)).toEqual({ rows: ['x', 'x'], full: true });
    expect(page(rows(2, 1), 3, itself)).toEqual({ rows: ['x', 'x'], full: false });
  });

  it('ends before an answer gets too large for one message', () => {
    const { rows: taken, full } = page(rows(1_000, 64 * 1024), 1_000, itself);
    expect(full).toBe(true);
    expect(taken.length * 64 * 1024).toBeGreaterThan(1024 * 1024);
    expect(taken.length * 64 * 1024).toBeLessThan(3 * 1024 * 1024);
  });

  it('counts bytes, not characters, and rows without a text', () => {
    expect(page(Array.from({ length: 40 }, () => '€'.repeat(20_000)), 1_000, itself).rows.length).toBeLessThan(40);
    expect(page([null, null], 10, (row) => row)).toEqual({ rows: [null, null], full: false });
  });
});
