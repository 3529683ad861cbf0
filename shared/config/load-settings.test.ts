import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, expectTypeOf, it } from 'vitest';
import { LtsError } from '../errors/lts-error.js';
import { describeSettings, effectiveSettings } from './describe-settings.js';
import { type Address, address, bool, choice, duration, int, list, secret, size, text } from './kinds.js';
import { loadSettings } from './load-settings.js';
import { requireInsecure } from './require-insecure.js';
import { defineSettings, type SettingsOf } from './settings.js';

const settings = defineSettings(
  {
    listen: { schema: address(), default: '127.0.0.1:7401', description: 'Where it serves.' },
    insecure: { schema: bool(), default: false, description: 'Allows plain text off loopback.' },
    workThreads: { schema: int({ min: 1, max: 1_000 }), default: 4, description: 'Tasks at once.' },
    graceTime: { schema: duration({ min: 1_000 }), default: '10s', description: 'How long it waits.' },
    batchBytes: { schema: size({ max: 4 * 1024 * 1024 }), default: '4MiB', description: 'Largest batch.' },
    trackers: { schema: list(address()), default: [], description: 'Where trackers are.' },
    logLevel: { schema: choice(['info', 'debug']), default: 'info', description: 'How much is written.' },
    token: { schema: secret(), description: 'Proves who calls.' },
    group: { schema: text(), required: true, description: 'The group.' },
  },
  (values) => requireInsecure(values.listen, values.insecure),
);
type Config = SettingsOf<typeof settings>;

const folder = mkdtempSync(join(tmpdir(), 'settings-'));
afterAll(() => rmSync(folder, { recursive: true }));
const fileWith = (content: string): string => {
  const file = join(folder, 'lts.yaml');
  writeFileSync(file, content);
  return file;
};
const problemsOf = (sources: Parameters<typeof loadSettings>[1]): string[] => {
  try {
    loadSettings(settings, sources);
  } catch (error) {
    if (error instanceof LtsError && error.reason === 'CONFIG_INVALID') return error.message.split('\n');
    throw error;
  }
  return [];
};

describe('loadSettings', () => {
  it('leaves a list empty when the setting is given that makes its default needless', () => {
    const either = defineSettings({
      trackers: { schema: list(text()), default: ['near'], emptyWith: 'zookeeper', description: 'Where trackers are.' },
      zookeeper: { schema: text(), description: 'What names the trackers.' },
    });
    const trackersWith = (env: Record<string, string>): string[] => loadSettings(either, { env }).values.trackers;
    expect(trackersWith({})).toEqual(['near']);
    expect(trackersWith({ LTS_ZOOKEEPER: '' })).toEqual(['near']);
    expect(trackersWith({ LTS_ZOOKEEPER: 'z' })).toEqual([]);
    expect(trackersWith({ LTS_ZOOKEEPER: 'z', LTS_TRACKERS: 'far' })).toEqual(['far']);
  });

  it('reads the units and gives typed values', () => {
    const { values, sources } = loadSettings(settings, { flags: { group: 'demo' }, env: {} });
    expectTypeOf(values).toEqualTypeOf<Config>();
    expectTypeOf(values.listen).toEqualTypeOf<Address>();
    expectTypeOf(values.token).toEqualTypeOf<string | undefined>();
    expectTypeOf(values.logLevel).toEqualTypeOf<'info' | 'debug'>();
    expectTypeOf(values.group).toEqualTypeOf<string>();
    expect(values).toEqual({
      listen: { host: '127.0.0.1', port: 7401 },
      insecure: false,
      workThreads: 4,
      graceTime: 10_000,
      batchBytes: 4_194_304,
      trackers: [],
      logLevel: 'info',
      token: undefined,
      group: 'demo',
    });
    expect(sources).toMatchObject({ group: 'flag --group', listen: 'default' });
  });

  it('lets flags overrule the environment, it the file, and it the default', () => {
    const file = fileWith('workThreads: 1\ngraceTime: 1s\nlogLevel: debug\nlisten: 127.0.0.1:1\n');
    const env = { LTS_WORK_THREADS: '2', LTS_GRACE_TIME: '2s', LTS_TRACKERS: '127.0.0.1:1,[::1]:2', LTS_TOKEN: '' };
    const { values, sources } = loadSettings(settings, { flags: { workThreads: '3', group: 'g' }, env, file });
    expect(values).toMatchObject({ workThreads: 3, graceTime: 2_000, logLevel: 'debug', trackers: [{ host: '127.0.0.1', port: 1 }, { host: '::1', port: 2 }] });
    expect(sources).toMatchObject({ workThreads: 'flag --work-threads', graceTime: 'env LTS_GRACE_TIME', logLevel: `file ${file}`, batchBytes: 'default', token: 'default' });
  });

  it('tells every problem at once, with value, source and allowed form', () => {
    const file = fileWith('workThread: 1\nbatchBytes: 5MiB\n');
    const problems = problemsOf({ flags: { workThreads: '0', grupe: 'x' }, env: { LTS_GRACE_TIMES: '1s', LTS_GRACE_TIME: '10', LTS_LISTEN: 'nowhere' }, file });
    expect(problems).toEqual([
      `workThread: unknown key (file ${file}) (did you mean workThreads?)`,
      'LTS_GRACE_TIMES: unknown variable (env) (did you mean LTS_GRACE_TIME?)',
      '--grupe: unknown flag (did you mean --group?)',
      'listen: "nowhere" (env LTS_LISTEN) is not host:port, such as 127.0.0.1:7401 or [::1]:7401',
      'workThreads: "0" (flag --work-threads) is not a whole number, 1 to 1,000',
      'graceTime: "10" (env LTS_GRACE_TIME) is not a duration such as 250ms, 10s, 5m, 2h, 7d, at least 1s',
      `batchBytes: "5MiB" (file ${file}) is not a size such as 512B, 64KiB, 4MiB, 1GiB, at most 4MiB`,
      'group: is missing; give --group or LTS_GROUP: a text of 1 to 1,024 characters',
    ]);
  });

  it('tells what is wrong with the file itself', () => {
    expect(problemsOf({ flags: { group: 'g' }, env: {}, file: join(folder, 'none.yaml') })).toEqual([expect.stringContaining('ENOENT')]);
    expect(problemsOf({ flags: { group: 'g' }, env: {}, file: fileWith('[1, 2]') })).toEqual([expect.stringContaining('does not hold key: value pairs')]);
    expect(problemsOf({ flags: { group: 'g' }, env: { LTS_CONFIG: fileWith('a: [') } })).toEqual([expect.stringContaining('cannot be read')]);
  });

  it('does not take variables of the command and of other services for mistakes', () => {
    expect(problemsOf({ flags: { group: 'g' }, env: { LTS_TARGET: 'x', LTS_DATA_DIR: 'y' }, otherKeys: ['dataDir'] })).toEqual([]);
    expect(problemsOf({ flags: { group: 'g' }, env: { LTS_DATA_DIR: 'y' } })).toHaveLength(1);
  });

  it('refuses to serve other machines unless told to', () => {
    expect(problemsOf({ flags: { group: 'g', listen: '0.0.0.0:7401' }, env: {} })).toEqual([expect.stringContaining('--insecure')]);
    expect(problemsOf({ flags: { listen: '0.0.0.0:7401' }, env: {} })).toHaveLength(2);
    expect(problemsOf({ flags: { group: 'g', listen: 'x' }, env: {} })).toHaveLength(1);
    expect(problemsOf({ flags: { group: 'g', listen: '0.0.0.0:7401', insecure: true }, env: {} })).toEqual([]);
  });

  it('never shows a secret', () => {
    expect(problemsOf({ flags: { group: 'g', token: 'x'.repeat(2_000) }, env: {} })).toEqual(['token: (secret) (flag --token) is not a text of 1 to 1,024 characters']);
    const loaded = loadSettings(settings, { flags: { group: 'g', token: 'hidden' }, env: {} });
    expect(loaded.values.token).toBe('hidden');
    expect(effectiveSettings(settings, loaded)).toContainEqual({ key: 'token', value: '********', source: 'flag --token' });
    expect(effectiveSettings(settings, loaded)).toContainEqual({ key: 'graceTime', value: '10s', source: 'default' });
  });

  it('describes each setting and refuses a default that does not fit', () => {
    expect(describeSettings(settings)[2]).toMatchObject({ flag: '--work-threads', env: 'LTS_WORK_THREADS', default: '4' });
    expect(() => defineSettings({ a: { schema: int({ max: 1 }), default: 2, description: '' } })).toThrow('the default of a, 2, is not a whole number');
  });
});
