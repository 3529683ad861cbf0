import { describe, expect, it } from 'vitest';
import { migrations } from './migrate.js';

describe('the migrations of PostgreSQL', () => {
  it('are numbered without a gap', () => {
    expect(migrations.map(({ version }) => version)).toEqual(migrations.map((_, i) => i + 1));
    expect(migrations.length).toBeGreaterThan(0);
  });
});
