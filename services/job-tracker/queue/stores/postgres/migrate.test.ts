import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { migrations } from './migrate.js';

/** What was released never changes: a store that ran a file once will not run it again. */
const frozen: Record<string, string> = {
  '0001_initial.sql': '83b91546318b93cdd2b0c5f797902263a3d8f1634fe7a1199746893583da69d9',
  '0002_transitions.sql': 'd914fc1afc5739d866ef43f41402048cf88f8e76a9a7332d0502993d1801a3df',
  '0003_schedules.sql': 'ede514f7a4992e3f065e8386b7cd046c71361b57ef5906acc256a5df4d6a0575',
};

describe('the migrations of PostgreSQL', () => {
  it('are numbered without a gap and frozen', () => {
    expect(migrations.map(({ version }) => version)).toEqual(migrations.map((_, i) => i + 1));
    const hashes = Object.fromEntries(migrations.map(({ name, sql }) => [name, createHash('sha256').update(sql).digest('hex')]));
    expect(hashes).toEqual(frozen);
  });
});
