import type { Module } from './modules.js';

/** A rule of the tree: the name says what must hold; `broken` tells each place where it does not. */
export interface Rule {
  name: string;
  broken(module: Module): string[];
}

const isTest = (path: string): boolean => path.endsWith('.test.ts');
const roomOf = (path: string): string => path.split('/').slice(0, path.startsWith('services/') ? 2 : 1).join('/');

/** Services whose work is to put the others together; they may use app.ts, config.ts and the public doors. */
const composers = ['services/cli', 'services/standalone'];
const doors = /^services\/[a-z-]+\/(index|app|config)\.ts$/;

/** Who may import which package. Values are the folders that may. */
const packageOwners: Record<string, string[]> = {
  'better-sqlite3': ['services/job-tracker/queue/stores/sqlite/', 'shared/failstore/'],
  'node-zookeeper-client': ['shared/registry/registries/zookeeper/'],
  pino: ['shared/log/'],
  commander: ['services/cli/'],
  'cli-table3': ['services/cli/'],
  yaml: ['shared/config/'],
};

/** Ends the timers of the library that it wraps; makes none. */
const zooKeeperLink = 'shared/registry/registries/zookeeper/library-link.ts';

/** The wiring of a thread is its app.ts. */
const threadWirings = ['services/task-tracker/stream/thread.ts'];

/** What reads time, sets timers or reads the environment, and where that is allowed in shared/ and services/. */
const wordOwners: { pattern: RegExp; what: string; owners: string[] }[] = [
  { pattern: /\bDate\.now\b/, what: 'Date.now', owners: ['shared/time/', 'shared/ids.ts'] },
  { pattern: /\bnew Date\(\s*\)/, what: 'new Date()', owners: ['shared/time/'] },
  { pattern: /\b(setTimeout|setInterval|clearTimeout|clearInterval)\b/, what: 'a timer', owners: ['shared/time/', zooKeeperLink] },
  { pattern: /\bsetImmediate\b/, what: 'setImmediate', owners: ['shared/time/', 'services/job-tracker/queue/stores/', 'shared/registry/registries/local.ts'] },
  { pattern: /\bperformance\b/, what: 'performance', owners: ['shared/time/'] },
  { pattern: /\bprocess\.(env\b|hrtime)/, what: 'process.env', owners: ['shared/config/'] },
];

function importsWhere(module: Module, isWrong: (path: string, typeOnly: boolean) => boolean): string[] {
  return module.imports.filter(({ path, typeOnly }) => path !== undefined && isWrong(path, typeOnly)).map(({ specifier }) => `${module.path} imports ${specifier}`);
}

function linesMatching(module: Module, pattern: RegExp, what: string): string[] {
  return module.code.split('\n').flatMap((line, index) => (pattern.test(line) ? [`${module.path}:${index + 1} has ${what}`] : []));
}

/** The rules, each on one module. */
export const rules: Rule[] = [
  {
    name: 'shared imports only shared',
    broken: (module) => (module.path.startsWith('shared/') && !isTest(module.path) ? importsWhere(module, (path) => !path.startsWith('shared/')) : []),
  },
  {
    name: 'tests of shared import only shared and the test kit',
    broken: (module) =>
      module.path.startsWith('shared/') && isTest(module.path) ? importsWhere(module, (path) => !path.startsWith('shared/') && !path.startsWith('test/kit/')) : [],
  },
  {
    name: 'no service imports another service; standalone and cli use only app.ts, config.ts and public doors',
    broken: (module) =>
      module.path.startsWith('services/')
        ? importsWhere(module, (path) => path.startsWith('services/') && roomOf(path) !== roomOf(module.path) && !(composers.includes(roomOf(module.path)) && doors.test(path)))
        : [],
  },
  {
    name: 'services do not import tests',
    broken: (module) =>
      module.path.startsWith('services/') ? importsWhere(module, (path) => path.startsWith('test/') && !(isTest(module.path) && path.startsWith('test/kit/'))) : [],
  },
  {
    name: 'only app.ts, or the wiring of a thread, names an implementation of a port',
    broken: (module) => {
      if (isTest(module.path) || module.path.startsWith('test/')) return [];
      const implementation = /^(services\/[a-z-]+\/.*|shared\/.*)\/(stores|registries)\/([a-z-]+)/;
      const own = implementation.exec(module.path)?.[0];
      if (own !== undefined || threadWirings.includes(module.path) || /^services\/[a-z-]+\/app\.ts$/.test(module.path)) return [];
      return importsWhere(module, (path, typeOnly) => !typeOnly && implementation.test(path));
    },
  },
  {
    name: 'each outside package stays in the folder that wraps it',
    broken: (module) =>
      module.path.startsWith('test/') || isTest(module.path)
        ? []
        : module.imports
            .filter(({ specifier }) => {
              const owners = packageOwners[specifier];
              return owners !== undefined && !owners.some((owner) => module.path.startsWith(owner));
            })
            .map(({ specifier }) => `${module.path} imports ${specifier}`),
  },
  {
    name: 'time and timers only in shared/time, the environment only in shared/config',
    broken: (module) =>
      module.path.startsWith('test/') || isTest(module.path)
        ? []
        : wordOwners
            .filter(({ owners }) => !owners.some((owner) => module.path.startsWith(owner)))
            .flatMap(({ pattern, what }) => linesMatching(module, pattern, what)),
  },
  { name: 'no default exports', broken: (module) => linesMatching(module, /^\s*export default\b|\bas default\b/, 'a default export') },
  { name: 'no export *', broken: (module) => linesMatching(module, /^\s*export \*/, 'export *') },
  {
    name: 'files of services and shared have at most 350 lines',
    broken: (module) => {
      const lines = module.source.trimEnd().split('\n').length;
      return module.path.startsWith('test/') || isTest(module.path) || lines <= 350 ? [] : [`${module.path} has ${lines} lines`];
    },
  },
  {
    name: 'no skipped, focused or unwritten tests',
    broken: (module) => (isTest(module.path) ? linesMatching(module, /\b(?:it|test|describe)\.(?:only|skip|todo)\b|\b(?:xit|fit|xdescribe)\(/, 'a test that is not run as it stands') : []),
  },
];
