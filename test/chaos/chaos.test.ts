import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { packageRoot } from '../../shared/package-root.js';

it('no promise is broken in two minutes of faults', async () => {
  const chaos = spawn(process.execPath, [join(packageRoot, 'dist/test/chaos/main.js'), '--minutes', '2'], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [chaos.stdout, chaos.stderr]) stream.on('data', (text: Buffer) => (output += text.toString()));
  const [code] = (await once(chaos, 'close')) as [number | null];
  expect({ code, output }).toMatchObject({ code: 0 });
});
