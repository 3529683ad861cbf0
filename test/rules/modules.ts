import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { packageRoot } from '../../shared/package-root.js';

/** One TypeScript source as the rules see it. */
export interface Module {
  /** From the root of the repository: services/cli/main.ts. */
  path: string;
  /** The source without comments and without the content of strings. */
  code: string;
  /** The source as it is. */
  source: string;
  imports: Import[];
}

/** One import or re-export. */
export interface Import {
  /** As written: ../errors/reasons.js, node:fs, pino. */
  specifier: string;
  /** The path from the root for a relative one: shared/errors/reasons.ts; undefined for packages. */
  path: string | undefined;
  /** Gone at run time. */
  typeOnly: boolean;
}

const folders = ['services', 'shared', 'test'];

let modules: Module[] | undefined;

/** All hand-written modules; read once. */
export function readModules(): Module[] {
  modules ??= folders.flatMap((folder) => filesIn(folder)).map((path) => parseModule(path, readFileSync(join(packageRoot, path), 'utf8')));
  return modules;
}

function filesIn(folder: string): string[] {
  return readdirSync(join(packageRoot, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(packageRoot, join(entry.parentPath, entry.name)))
    .filter((path) => !path.startsWith('shared/grpc/generated/') && !path.endsWith('.d.ts'));
}

const importPattern = /(?:^|[\s;}])(?:import|export)\s+(type\s+)?(?:[\w$*{}\s,]+?\sfrom\s*)?['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)/g;

/** The module with this text, as if it lay at this path. */
export function parseModule(path: string, source: string): Module {
  const uncommented = withoutComments(source);
  const imports = [...uncommented.matchAll(importPattern)].map((match): Import => {
    const specifier = match[2] ?? match[3] ?? '';
    const target = specifier.startsWith('.') ? join(dirname(path), specifier).replace(/\.js$/, '.ts') : undefined;
    return { specifier, path: target, typeOnly: match[1] !== undefined };
  });
  return { path, source, code: withoutStrings(uncommented), imports };
}

/** Comments become blanks; texts in quotes stay. */
function withoutComments(source: string): string {
  return source.replaceAll(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, (part) =>
    part.startsWith('/*') || part.startsWith('//') ? part.replaceAll(/[^\n]/g, ' ') : part,
  );
}

/** Texts in plain quotes become empty; templates stay, since they hold code. */
function withoutStrings(source: string): string {
  return source.replaceAll(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g, "''");
}
