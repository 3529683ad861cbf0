import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { migrations } from './migrate.js';

/** What was released never changes: a store that ran a file once will not run it again. */
const frozen: Record<string, string> = {
  '0001_initial.sql': '83b91546318b93cdd2b0c5f797902263a3d8f1634fe7a1199746893583da69d9',
  '0002_transitions.sql': '3819c78004c33b9f699948aca0a2553624fe585d4a02a1b90528721bfa6dab93',
  '0003_schedules.sql': 'c23cdc1ed1363a039bcf69f4bbf8512ccc1e8a87f90217f16392539e1329d2a4',
  '0004_bounded_alter.sql': '1583089e2c763402b25c800082c291277390ba1ad82d0c26354bcb1f309b7422',
};

describe('the migrations of PostgreSQL', () => {
  it('are numbered without a gap and frozen', () => {
    expect(migrations.map(({ version }) => version)).toEqual(migrations.map((_, i) => i + 1));
    const hashes = Object.fromEntries(migrations.map(({ name, sql }) => [name, createHash('sha256').update(sql).digest('hex')]));
    expect(hashes).toEqual(frozen);
  });
});
