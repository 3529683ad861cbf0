import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { clientCommands } from '../../services/cli/commands.js';
import { storeCommands } from '../../services/cli/store-commands.js';
import { mayFollow, states } from '../../services/job-tracker/queue/instance-state.js';
import { packageRoot } from '../../shared/package-root.js';
import { tables, tablesIn, withTables } from './readme-tables.js';

const read = (name: string): string => readFileSync(join(packageRoot, name), 'utf8');
const readme = read('README.md');
const architecture = read('ARCHITECTURE.md');
const pages: [name: string, text: string][] = [['README.md', readme], ['ARCHITECTURE.md', architecture]];

const folders = ['.ci', 'deploy', 'proto', 'services', 'shared', 'test'];
/** All files and folders of the repository, folders with a slash at their end. */
const entries = [
  ...readdirSync(packageRoot),
  ...folders.flatMap((folder) => [
    `${folder}/`,
    ...readdirSync(join(packageRoot, folder), { withFileTypes: true, recursive: true }).map(
      (entry) => `${relative(packageRoot, join(entry.parentPath, entry.name))}${entry.isDirectory() ? '/' : ''}`,
    ),
  ]),
];
const withSlash = entries.map((entry) => `/${entry}`);

/** The text without its blocks of code. */
const prose = (text: string): string => text.replaceAll(/^```[\s\S]*?^```/gm, '');
const slug = (heading: string): string => heading.toLowerCase().replaceAll(/[^\w\- ]/g, '').replaceAll(' ', '-');
const all = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map((match) => match[1] ?? '');

describe.each(pages)('%s', (_name, text) => {
  it('links to files and headings that exist', () => {
    const links = all(prose(text), /\]\(([^)]+)\)/g).filter((link) => !link.startsWith('http'));
    expect(links.length).toBeGreaterThan(0);
    const anchors = new Set(all(text, /^#+ (.+)$/gm).map((heading) => `#${slug(heading)}`));
    const dead = links.filter((link) => (link.startsWith('#') ? !anchors.has(link) : !existsSync(join(packageRoot, link.split('#')[0] ?? ''))));
    expect(dead).toEqual([]);
  });

  it('names files and folders that exist, by the end of their paths', () => {
    const named = all(prose(text), /`([\w./-]+(?:\.(?:ts|mjs|py|proto|sql|md|json|binpb)|\/))`/g);
    expect(named.length).toBeGreaterThan(3);
    const users = new Set(['runners.mjs', './runners.mjs', 'client.mjs', './data/', 'stubs/', 'identity.json']);
    const unknown = named.filter((name) => !users.has(name) && !withSlash.some((entry) => entry.endsWith(`/${name}`)));
    expect(unknown).toEqual([]);
  });

  it('names files in its commands that exist', () => {
    const named = all(text, /(?<![\w/])((?:deploy|proto|services|shared|test)\/[\w./-]*\w\.\w+)/g);
    expect(named.filter((name) => !entries.includes(name))).toEqual([]);
  });
});

describe('the tables of README.md', () => {
  it('are all there', () => {
    expect(tablesIn(readme).toSorted()).toEqual([...tables.keys()].toSorted());
  });

  it('equal what the code says; after a change: npm run docs', () => {
    expect(readme).toBe(withTables(readme));
  });

  it('have every field of a job, in the order of the contract', () => {
    const message = /^message Job \{([\s\S]*?)^\}/m.exec(read('proto/lts/v1/job.proto'))?.[1] ?? '';
    const fields = all(message, /^ {2}(?:repeated |optional )?[\w<>, .]+ (\w+) = \d+;/gm);
    expect(fields.length).toBeGreaterThan(15);
    const section = /^## A job$([\s\S]*?)^## /m.exec(readme)?.[1] ?? '';
    expect(all(section, /^\| `(\w+)` \|/gm)).toEqual(fields);
  });
});

describe('the commands in README.md', () => {
  it('are commands of lts', () => {
    const used = all(readme, /(?:^|`)(?:npx )?lts ([a-z-]+(?: [a-z]+)?)/gm);
    expect(used.length).toBeGreaterThan(30);
    const known = new Set([...clientCommands.map(({ path }) => path.join(' ')), ...storeCommands.map(({ name }) => `store ${name}`), 'standalone', 'job-client', 'job-tracker', 'task-tracker', 'config']);
    const unknown = used.filter((command) => !known.has(command) && !known.has(command.split(' ')[0] ?? ''));
    expect(unknown).toEqual([]);
  });

  it('are scripts of package.json', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const used = all(readme, /npm run ([a-z:]+)/g);
    expect(used.length).toBeGreaterThan(3);
    expect(used.filter((script) => scripts[script] === undefined)).toEqual([]);
  });
});

describe('the state machine in ARCHITECTURE.md', () => {
  it('is that of the code', () => {
    const diagram = /```mermaid\nstateDiagram-v2\n([\s\S]*?)```/.exec(architecture)?.[1] ?? '';
    const drawn = [...diagram.matchAll(/^ *([A-Z]+) --> ([A-Z]+)/gm)].map(([, from, to]) => `${from} ${to}`);
    const coded = states.flatMap((from) => states.filter((to) => mayFollow(from, to)).map((to) => `${from} ${to}`));
    expect(drawn.toSorted()).toEqual(coded.toSorted());
  });
});
