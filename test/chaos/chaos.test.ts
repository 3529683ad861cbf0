import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { packageRoot } from '../../shared/package-root.js';

it('no promise is broken in two minutes of faults', () => {
  const seed = Math.floor(Math.random() * 1_000_000);
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(packageRoot, 'dist/test/chaos/main.js'), '--minutes', '2', '--seed', `${seed}`], { encoding: 'utf8' });
  expect(status, `${stdout}\n${stderr}`).toBe(0);
});
