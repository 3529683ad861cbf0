import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';

it('without a package.json anywhere above, the search ends and says so', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'package-root-'));
  try {
    const moved = join(folder, 'package-root.mjs');
    copyFileSync(fileURLToPath(new URL('./package-root.js', import.meta.url)), moved);
    await expect(import(/* @vite-ignore */ pathToFileURL(moved).href)).rejects.toThrow(`no package.json above ${folder}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
