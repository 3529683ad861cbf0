import { describe, expect, it } from 'vitest';
import { parseModule, readModules } from './modules.js';
import { rules } from './rules.js';

const modules = readModules();

/** For each rule a place and a text that must break it: a rule that sees nothing would pass for ever. */
const violations: Record<string, [path: string, source: string][]> = {
  'shared imports only shared': [['shared/a.ts', "import { x } from '../services/cli/main.js';"]],
  'tests of shared import only shared and the test kit': [['shared/a.test.ts', "import type { x } from '../test/rules/rules.js';"]],
  'no service imports another service; standalone and cli use only app.ts, config.ts and public doors': [
    ['services/job-client/a.ts', "import { x } from '../job-tracker/app.js';"],
    ['services/cli/a.ts', "const x = await import('../job-tracker/admit/admission.js');"],
    ['services/cli/handlers/a.ts', "export { x } from '../../job-tracker/queue/queue-store.js';"],
  ],
  'services do not import tests': [['services/cli/a.ts', "import {\n  x,\n} from '../../test/kit/ports.js';"]],
  'only app.ts, or the wiring of a thread, names an implementation of a port': [
    ['services/job-tracker/admit/a.ts', "import { x } from '../queue/stores/sqlite/store.js';"],
    ['services/job-tracker/lead/a.ts', "import { x } from '../../../shared/registry/registries/local.js';"],
  ],
  'each outside package stays in the folder that wraps it': [
    ['services/job-client/a.ts', "import Database from 'better-sqlite3';"],
    ['shared/registry/a.ts', "import zookeeper from 'node-zookeeper-client';"],
    ['services/cli/a.ts', "import { pino } from 'pino';"],
  ],
  'time and timers only in shared/time, the environment only in shared/config': [
    ['services/cli/a.ts', 'const x = Date.now();'],
    ['services/cli/a.ts', 'setTimeout(() => undefined, 1);'],
    ['shared/log/a.ts', 'const x = `${process.env.HOME}`;'],
    ['shared/log/a.ts', "import { performance } from 'node:perf_hooks';"],
  ],
  'no default exports': [['services/cli/a.ts', 'export default function x() {}']],
  'no export *': [['services/cli/a.ts', "export * from './b.js';"]],
  'files of services and shared have at most 350 lines': [['services/cli/a.ts', 'x();\n'.repeat(351)]],
  'no skipped, focused or unwritten tests': [['services/cli/a.test.ts', "it.skip('x', () => undefined);"]],
};

describe('the rules of the tree', () => {
  it('see the modules and their imports', () => {
    const paths = modules.map((module) => module.path);
    expect(paths).toEqual(expect.arrayContaining(['services/cli/main.ts', 'services/job-tracker/queue/queue-store.ts', 'shared/ids.ts', 'test/rules/rules.ts']));
    expect(modules.length).toBeGreaterThan(80);
    // This file holds imports as texts.
    const imports = modules.filter((module) => module.path !== 'test/rules/imports.test.ts').flatMap((module) => module.imports);
    expect(imports.length).toBeGreaterThan(modules.length * 2);
    const unknown = imports.filter(({ path }) => path !== undefined && !path.startsWith('shared/grpc/generated/') && !paths.includes(path));
    expect(unknown.map(({ specifier }) => specifier)).toEqual([]);
  });

  it('do not take comments and texts for code', () => {
    const module = parseModule('services/cli/a.ts', "// import { x } from '../job-tracker/app.js';\n/* Date.now() */ const x = 'setTimeout';\n");
    expect(rules.flatMap((rule) => rule.broken(module))).toEqual([]);
  });

  it.each(rules)('$name', (rule) => {
    const snippets = violations[rule.name] ?? [];
    expect(snippets.length).toBeGreaterThan(0);
    for (const [path, source] of snippets) expect({ source, broken: rule.broken(parseModule(path, source)).length }).toEqual({ source, broken: 1 });
    expect(modules.flatMap((module) => rule.broken(module))).toEqual([]);
  });
});
