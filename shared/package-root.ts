import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

function findRoot(): string {
  const here = dirname(fileURLToPath(import.meta.url));
  let folder = here;
  while (!existsSync(join(folder, 'package.json'))) {
    if (folder === dirname(folder)) throw new Error(`no package.json above ${here}: keep it, with proto/, beside what was built`);
    folder = dirname(folder);
  }
  return folder;
}

/** The folder of this package: where proto/ and package.json lie, also when installed from npm. */
export const packageRoot = findRoot();

/** The version of this package. */
export const version = (JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string }).version;
