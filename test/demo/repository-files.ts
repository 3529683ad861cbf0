import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';

const notOurs = new Set(['.git', 'node_modules', 'dist', 'data', 'generated']);

/** The files that are checked in, from the root of the repository; without git: all but what is installed and built. */
export function repositoryFiles(root: string): string[] {
  const listed = existsSync(join(root, '.git')) ? gitFiles(root) : undefined;
  return (listed ?? walk(root, root)).filter((path) => existsSync(join(root, path)) && statSync(join(root, path)).isFile()).toSorted();
}

function gitFiles(root: string): string[] | undefined {
  try {
    // A clone of another user is fine here: nothing of it is run.
    const listed = execFileSync('git', ['-c', `safe.directory=${root}`, 'ls-files', '-z'], { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    return listed.split('\0').filter((path) => path !== '');
  } catch {
    return undefined;
  }
}

function walk(root: string, folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return notOurs.has(entry.name) ? [] : walk(root, path);
    return entry.isFile() ? [relative(root, path)] : [];
  });
}
