import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../../../../shared/package-root.js';

const folder = join(packageRoot, 'services/job-tracker/queue/stores/sqlite/migrations');

/** What was released never changes: a store that ran a file once will not run it again. */
const frozen: Record<string, string> = {
  '0001_initial.sql': 'ca823836905322a3b1db404aa8224fd2b38581baa2c5d2bf3c8b891b8f673d93',
  '0002_group_limits.sql': '41c807dd4ec1afa9eba29cdbb3e9a1a9175cbf1cb664bea821b4936fd5bd223b',
  '0003_schedules.sql': 'df073944f4994a28fafd22ea2c755441710d67627c37d85b27e1cb3c79ac7bb5',
  '0004_left_runs.sql': '3c827c4980045ff59e915eb671065065b1bb2e36386de4d10c34d95f76d0aac2',
};

describe('the migrations', () => {
  it('are numbered without a gap and frozen', () => {
    const names = readdirSync(folder).toSorted();
    expect(names.map((name) => name.slice(0, 5))).toEqual(names.map((_, i) => `${String(i + 1).padStart(4, '0')}_`));
    const hashes = Object.fromEntries(names.map((name) => [name, createHash('sha256').update(readFileSync(join(folder, name))).digest('hex')]));
    expect(hashes).toEqual(frozen);
  });
});
