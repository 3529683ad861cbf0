// Installs and builds what is missing or old, before a script of package.json needs it. Does nothing, fast, when all is fresh.
// Runs before anything is installed: plain Node, no packages. Everything it says goes to standard error.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const oldestNode = 20;
const stampFile = join(root, 'dist/.built');
const sourceFolders = ['services', 'shared', 'test', 'proto'];
const sourceFiles = ['package.json', 'package-lock.json', 'tsconfig.json', 'deploy/generate.mjs'];
const generated = join(root, 'shared/grpc/generated');

const say = (text) => process.stderr.write(`${text}\n`);

function give(text) {
  say(text);
  process.exit(1);
}

function filesIn(folder) {
  if (folder === generated || !existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesIn(path) : [path];
  });
}

/** Changes whenever a source is added, removed or written. */
function fingerprint() {
  const hash = createHash('sha256');
  for (const path of [...sourceFiles.map((name) => join(root, name)), ...sourceFolders.flatMap((name) => filesIn(join(root, name)))].toSorted((a, b) => (a < b ? -1 : 1))) {
    const { mtimeMs, size } = statSync(path);
    hash.update(`${relative(root, path)} ${mtimeMs} ${size}\n`);
  }
  return hash.digest('hex');
}

/** npm writes its own list into node_modules last; the lock file is newer when it was changed since. */
function isInstalled() {
  const list = join(root, 'node_modules/.package-lock.json');
  return existsSync(list) && statSync(list).mtimeMs >= statSync(join(root, 'package-lock.json')).mtimeMs;
}

function isBuilt() {
  return existsSync(stampFile) && readFileSync(stampFile, 'utf8') === fingerprint();
}

/** npm by the very program that runs us, where there is one. */
function npm(args) {
  const [command, first] = process.env.npm_execpath?.endsWith('.js') ? [process.execPath, [process.env.npm_execpath]] : ['npm', []];
  const { status, error } = spawnSync(command, [...first, ...args], { cwd: root, stdio: ['ignore', 2, 2] });
  if (error) say(`npm cannot be started: ${error.message}`);
  return error === undefined && status === 0;
}

function install() {
  say('Installing packages (npm ci; the first time takes one to two minutes, better-sqlite3 may be compiled) …');
  if (npm(['ci', '--no-audit', '--no-fund'])) return;
  give(
    [
      'npm ci failed; the reason is above. Often it is one of these:',
      '  no way to the package registry: check the network and `npm config get registry`;',
      '  no compiler for better-sqlite3: install python3, make and g++ (Debian: sudo apt-get install python3 make g++).',
      'Then run the same command again.',
    ].join('\n'),
  );
}

/** What was compiled from sources that are gone would still be run as tests. */
function removeOrphans() {
  for (const path of ['services', 'shared', 'test'].flatMap((name) => filesIn(join(root, 'dist', name)))) {
    const compiled = relative(join(root, 'dist'), path).replace(/(\.d\.ts|\.js|\.js\.map)$/, '.ts');
    if (compiled.endsWith('.ts') && !existsSync(join(root, compiled))) rmSync(path);
  }
}

function build() {
  say('Building (npm run build) …');
  const built = fingerprint();
  rmSync(stampFile, { force: true });
  if (!npm(['run', '--silent', 'build'])) give('npm run build failed; the reason is above.');
  removeOrphans();
  mkdirSync(dirname(stampFile), { recursive: true });
  writeFileSync(stampFile, built);
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** One of us at a time per checkout. The lock lies outside of it, since npm ci deletes node_modules. */
function lock() {
  const file = join(tmpdir(), `lts-build-${createHash('sha256').update(root).digest('hex').slice(0, 16)}.lock`);
  const until = Date.now() + 600_000;
  for (;;) {
    try {
      const handle = openSync(file, 'wx');
      writeSync(handle, String(process.pid));
      closeSync(handle);
      process.once('exit', () => rmSync(file, { force: true }));
      for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    const holder = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
    if (holder > 0 && !isAlive(holder)) rmSync(file, { force: true });
    else if (Date.now() > until) give(`Another build has been running for ten minutes (process ${holder}, ${file}).`);
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  }
}

if (Number(process.versions.node.split('.')[0]) < oldestNode) {
  give(`Node.js ${oldestNode} or newer is needed, this is ${process.version}. See https://nodejs.org/en/download`);
}
if (!isInstalled() || !isBuilt()) {
  lock();
  if (!isInstalled()) install();
  if (!isBuilt()) build();
}
