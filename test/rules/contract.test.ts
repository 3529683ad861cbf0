import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../shared/package-root.js';
import { readModules } from './modules.js';

const protoFolder = join(packageRoot, 'proto/lts/v1');
const protos = readdirSync(protoFolder).map((name) => readFileSync(join(protoFolder, name), 'utf8'));
const methods = protos.flatMap((text) =>
  [...text.matchAll(/^service (\w+) \{([\s\S]*?)^\}/gm)].flatMap(([, service, body]) =>
    [...(body ?? '').matchAll(/^ {2}rpc (\w+)\(/gm)].map(([, method]) => ({ service: service ?? '', method: method ?? '' })),
  ),
);
const buf = (args: string[]): string => execFileSync(join(packageRoot, 'node_modules/.bin/buf'), args, { cwd: packageRoot, encoding: 'utf8' });

describe('the contract', () => {
  it('passes buf lint', () => {
    expect(buf(['lint', 'proto'])).toBe('');
  });

  it('breaks nothing that the baseline promises', () => {
    expect(buf(['breaking', 'proto', '--against', 'proto/baseline.binpb'])).toBe('');
  });

  it('has its services and methods', () => {
    expect(new Set(methods.map(({ service }) => service))).toEqual(
      new Set(['AdminService', 'ClusterService', 'FailStoreService', 'FeedbackService', 'JobService', 'ScheduleService', 'WorkerService']),
    );
    expect(methods.length).toBeGreaterThan(17);
  });

  it.each(methods)('$service/$method is served', ({ method }) => {
    const property = new RegExp(`\\b(?:${method}|${method[0]?.toLowerCase()}${method.slice(1)})\\b\\s*[:(,]`);
    const servers = readModules().filter(({ path, code }) => /^services\/(job-tracker|job-client)\//.test(path) && !path.endsWith('.test.ts') && property.test(code));
    expect(servers.length).toBeGreaterThan(0);
  });
});
