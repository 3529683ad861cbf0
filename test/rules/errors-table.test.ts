import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { reasons } from '../../shared/errors/reasons.js';
import { packageRoot } from '../../shared/package-root.js';
import { readModules } from './modules.js';

const readme = readFileSync(join(packageRoot, 'README.md'), 'utf8');
const rows = [...readme.matchAll(/^\| `([A-Z_]+)` \| ([A-Z_]+) \| (.+?) \|$/gm)].map(([, reason, code, action]) => ({ reason, code, action }));

describe('the reasons of errors', () => {
  it('stand in the README as they are in the code', () => {
    const expected = Object.entries(reasons).map(([reason, { code, action }]) => ({ reason, code: status[code], action }));
    expect(rows).toEqual(expected);
  });

  it.each(Object.keys(reasons))('%s is given by some code', (reason) => {
    const givers = readModules().filter(({ path, source }) => path !== 'shared/errors/reasons.ts' && !path.startsWith('test/') && !path.endsWith('.test.ts') && source.includes(`'${reason}'`));
    expect(givers.length).toBeGreaterThan(0);
  });
});
