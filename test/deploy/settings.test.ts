import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { serviceCommands } from '../../services/cli/service-commands.js';
import { settingsOf } from '../../services/cli/serve.js';
import { loadSettings } from '../../shared/config/load-settings.js';
import type { Settings } from '../../shared/config/settings.js';
import { packageRoot } from '../../shared/package-root.js';
import { deployText, ltsServices, type Manifest, readCompose, readImage, readManifests } from './deploy-files.js';

interface Container {
  args: string[];
  env?: { name: string; value?: string }[];
}

const image = readImage();
const shared = (readManifests().find(({ manifest }) => manifest.kind === 'ConfigMap')?.manifest.data ?? {}) as Record<string, string>;

/** What a pod is started with. A variable whose value comes from elsewhere is a text without a meaning. */
function fromManifest(manifest: Manifest): [string, string[], Record<string, string>] {
  const [container] = (manifest.spec as unknown as { template: { spec: { containers: [Container] } } }).template.spec.containers;
  const own = (container.env ?? []).map(({ name, value }) => [name, value?.replaceAll('$(POD_NAME)', 'pod-0') ?? 'from-elsewhere'] as const);
  return [`kubernetes ${manifest.metadata.name}`, container.args, { ...image.environment, ...shared, ...Object.fromEntries(own) }];
}

/** What a unit is started with, and what its file of settings has to say. */
function fromUnit(unit: string): [string, string[], Record<string, string>] {
  const text = deployText(`systemd/${unit}`);
  const args = /^ExecStart=\S+ \S+\/main\.js (.*)$/m.exec(text)?.[1]?.split(' ') ?? [];
  const given = [...text.matchAll(/^Environment=(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value] as const);
  const needed = unit.includes('task-tracker') ? { LTS_GROUP: 'g', LTS_RUNNERS: '/opt/runners.mjs' } : {};
  return [`systemd ${unit}`, args, { ...Object.fromEntries(given), ...needed }];
}

const starts: [string, string[], Record<string, string>][] = [
  ...ltsServices(readCompose({ POSTGRES_PASSWORD: 'secret' })).map(([name, service]): [string, string[], Record<string, string>] => [`compose ${name}`, service.command ?? [], { ...image.environment, ...service.environment }]),
  ...readManifests().filter(({ manifest }) => manifest.kind === 'StatefulSet').map(({ manifest }) => fromManifest(manifest)),
  ...readdirSync(join(packageRoot, 'deploy/systemd')).map(fromUnit),
];

const otherKeys = serviceCommands.flatMap(({ settings }) => Object.keys(settings.fields));

describe('what deploy/ starts', () => {
  it('is looked at', () => {
    expect(starts.length).toBe(12);
  });

  it.each(starts)('%s has settings that exist and are right, for a role that exists', (_name, args, env) => {
    const role = serviceCommands.find(({ name }) => name === args[0]);
    expect(args.length).toBe(1);
    if (role === undefined) throw new Error(`lts ${args[0]} is no service`);
    const { values } = loadSettings(settingsOf(role) as Settings, { env, otherKeys });
    expect(values).toHaveProperty('dataDir');
    // With nonsense among them they are refused: the check sees what it is given.
    expect(() => loadSettings(settingsOf(role) as Settings, { env: { ...env, LTS_NODE_IDD: 'x' }, otherKeys })).toThrow('LTS_NODE_IDD');
  });
});
