import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { validate as lintDockerfile } from 'dockerfile-utils';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../shared/package-root.js';
import { deployText, ltsServices, type Manifest, readCompose, readImage, readManifests, secondsOf } from './deploy-files.js';

const compose = readCompose({ POSTGRES_PASSWORD: 'secret' });

describe('Dockerfile', () => {
  const image = readImage();

  it('has no fault that the linter knows', () => {
    expect(lintDockerfile(deployText('Dockerfile')).map(({ message, range }) => [range.start.line + 1, message])).toEqual([]);
    expect(lintDockerfile('FROM node\nEXPOSE many\n')).not.toEqual([]);
  });

  it('pins its base, runs as a user that is not root, and drains', () => {
    for (const base of image.bases) expect(base).toMatch(/^node:20\.\d+\.\d+-\w+-slim$/);
    expect(image.user).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    expect(image.stopSignal).toBe('SIGTERM');
    expect(image.volumes).toEqual([image.environment['LTS_DATA_DIR']]);
    expect(image.entrypoint).toEqual(['node', '/app/dist/services/cli/main.js']);
    expect(image.healthcheck).toEqual([...image.entrypoint, 'node', 'check', '--self']);
  });

  it('gets everything into its context that it copies and builds from', () => {
    const rules = readFileSync(join(packageRoot, '.dockerignore'), 'utf8').split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    expect(rules[0]).toBe('*');
    const kept = rules.filter((rule) => rule.startsWith('!')).map((rule) => rule.slice(1));
    const { files } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { files: string[] };
    const sources = files.map((file) => file.split('/')[0] ?? '').filter((name) => name !== 'dist' && !name.startsWith('!'));
    expect(kept).toEqual(expect.arrayContaining([...sources, 'package.json', 'package-lock.json', 'tsconfig.json', 'shared', 'test', 'LICENSE']));
    expect(kept.filter((name) => !existsSync(join(packageRoot, name)))).toEqual([]);
  });
});

describe('compose.yaml', () => {
  it('fits the schema of the Compose Specification', () => {
    // The formats of the schema are those of Go, which the words of JSON schema do not mean.
    const fits = new Ajv({ strict: false, validateFormats: false, allErrors: true }).compile(withoutDraft(join(packageRoot, 'test/deploy/schemas/compose-spec.json')));
    expect({ ok: fits(compose), errors: fits.errors }).toEqual({ ok: true, errors: null });
    expect(fits({ ...compose, services: { a: { image: 'a', helthcheck: {} } } })).toBe(false);
  });

  it('has no password of its own and says which one is missing', () => {
    expect(() => readCompose({})).toThrow(/POSTGRES_PASSWORD.*openssl/);
    expect(deployText('compose.yaml')).not.toMatch(/PASSWORD: (?![&*])\S/);
  });

  it('publishes the gateway alone, on loopback', () => {
    expect(Object.entries(compose.services).flatMap(([name, { ports = [] }]) => ports.map((port) => [name, port]))).toEqual([['job-client', '127.0.0.1:7400:7400']]);
    for (const { networks } of Object.values(compose.services)) expect(networks).toEqual(['lts']);
  });

  it('keeps data in volumes that are declared, one per service', () => {
    const used = Object.values(compose.services).flatMap(({ volumes = [] }) => volumes.map((volume) => volume.split(':')[0] ?? ''));
    expect(used.toSorted()).toEqual(Object.keys(compose.volumes).toSorted());
    expect(new Set(used).size).toBe(used.length);
  });

  it('waits for services that exist, checks the health of all, and lets each drain', () => {
    for (const service of Object.values(compose.services)) {
      for (const [needed, { condition }] of Object.entries(service.depends_on ?? {})) expect([compose.services[needed] !== undefined, condition]).toEqual([true, 'service_healthy']);
      expect(service.healthcheck.test[0]).toBe('CMD');
      expect(service.restart).toBe('unless-stopped');
      expect(secondsOf(service.stop_grace_period)).toBeGreaterThanOrEqual(30);
    }
  });

  it('gives workers longer to stop than their runs, their abort and their results take', () => {
    const workers = ltsServices(compose).filter(([name]) => name.startsWith('task-tracker'));
    expect(workers.length).toBe(2);
    for (const [, { environment, stop_grace_period }] of workers) expect(secondsOf(stop_grace_period)).toBeGreaterThanOrEqual(secondsOf(environment['LTS_GRACE'] ?? '') + 15);
  });
});

describe('Kubernetes manifests', () => {
  const manifests = readManifests().filter(({ file }) => file !== 'kustomization.yaml');
  const workloads = manifests.filter(({ manifest }) => manifest.kind === 'StatefulSet').map(({ manifest }) => manifest);

  it('have the types of the API, without a field that it does not know', () => {
    expect(typeErrors(manifests.map(({ manifest }) => manifest))).toBe('');
    const [first] = workloads;
    expect(typeErrors([{ ...first, spec: { ...first?.spec, replica: 1 } } as Manifest])).toContain('replica');
  });

  it('are all named by the kustomization, in one namespace', () => {
    const kustomization = readManifests().find(({ file }) => file === 'kustomization.yaml')?.manifest as unknown as { resources: string[]; namespace: string };
    expect(kustomization.resources.toSorted()).toEqual([...new Set(manifests.map(({ file }) => file))].toSorted());
    for (const { manifest } of manifests) expect(manifest.kind === 'Namespace' ? manifest.metadata.name : manifest.metadata.namespace).toBe(kustomization.namespace);
  });

  it.each(workloads.map((manifest) => ({ name: manifest.metadata.name, manifest })))('$name is probed, restricted, bounded, spread over disruptions, and has the Service that names it', ({ name, manifest }) => {
    const spec = manifest.spec as unknown as WorkloadSpec;
    const pod = spec.template.spec;
    const [container] = pod.containers;
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    expect(container).toMatchObject({ args: [name], securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } } });
    expect(container?.resources).toMatchObject({ requests: { cpu: expect.any(String), memory: expect.any(String) }, limits: { memory: expect.any(String) } });
    for (const probe of [container?.startupProbe, container?.livenessProbe, container?.readinessProbe]) expect(probe?.grpc ?? probe?.exec).toBeDefined();
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(30);
    const find = (kind: string, called: string): Manifest | undefined => manifests.find((other) => other.manifest.kind === kind && other.manifest.metadata.name === called)?.manifest;
    expect(find('Service', spec.serviceName)?.spec).toMatchObject({ clusterIP: 'None', selector: spec.selector.matchLabels });
    expect(find('PodDisruptionBudget', name)?.spec).toMatchObject({ maxUnavailable: 1, selector: spec.selector });
    expect(spec.template.metadata.labels).toEqual(spec.selector.matchLabels);
    const places = [...(pod.volumes ?? []), ...(spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata)].map((volume) => volume.name);
    expect(container?.volumeMounts.map((mount) => mount.name).toSorted()).toEqual(places.toSorted());
  });
});

describe('systemd units', () => {
  const folder = join(packageRoot, 'deploy/systemd');
  const units = readdirSync(folder);

  it('are there for every service', () => {
    expect(units).toEqual(['lts-job-client.service', 'lts-job-tracker.service', 'lts-standalone.service', 'lts-task-tracker.service']);
  });

  it.each(units)('%s is accepted by systemd', (unit) => {
    const text = readFileSync(join(folder, unit), 'utf8');
    expect(verify(unit, text)).toBe('');
    expect(verify(unit, text.replace('TimeoutStopSec=', 'TimeoutStop='))).toContain('TimeoutStop');
    expect(text).toMatch(/^Type=exec$[\s\S]*^Restart=always$[\s\S]*^DynamicUser=yes$[\s\S]*^StateDirectory=lts\//m);
  });
});

interface Probe {
  grpc?: object;
  exec?: object;
}

interface WorkloadSpec {
  serviceName: string;
  selector: { matchLabels: Record<string, string> };
  volumeClaimTemplates?: { metadata: { name: string } }[];
  template: {
    metadata: { labels: Record<string, string> };
    spec: {
      terminationGracePeriodSeconds: number;
      securityContext: object;
      volumes?: { name: string }[];
      containers: { volumeMounts: { name: string }[]; resources: object; startupProbe?: Probe; livenessProbe?: Probe; readinessProbe?: Probe }[];
    };
  };
}

/** It names its draft in a way that the validator does not know; the words are those of draft 7, its default. */
function withoutDraft(path: string): object {
  const { $schema: _draft, ...schema } = JSON.parse(readFileSync(path, 'utf8')) as { $schema: string };
  return schema;
}

const modules: Record<string, string> = { v1: 'core/v1', 'apps/v1': 'apps/v1', 'policy/v1': 'policy/v1', 'networking.k8s.io/v1': 'networking/v1' };

/** What the compiler says of the objects as literals of the API's types; '' when nothing. */
function typeErrors(manifests: readonly Manifest[]): string {
  const folder = mkdtempSync(join(packageRoot, 'dist/manifests-'));
  try {
    const lines = manifests.map((manifest, index) => `export const m${index}: import('kubernetes-types/${modules[manifest.apiVersion] ?? manifest.apiVersion}').${manifest.kind} = ${JSON.stringify(manifest)};`);
    writeFileSync(join(folder, 'manifests.ts'), lines.join('\n'));
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: { strict: true, noEmit: true, module: 'preserve', moduleResolution: 'bundler', target: 'ES2023', types: [], skipLibCheck: true }, files: ['manifests.ts'] }));
    return spawnSync(process.execPath, [join(packageRoot, 'node_modules/typescript/bin/tsc'), '-p', folder], { encoding: 'utf8' }).stdout;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What systemd says of the unit, with programs and files that are not on this machine put in their places; '' when nothing. */
function verify(name: string, text: string): string {
  const folder = mkdtempSync(join(packageRoot, 'dist/units-'));
  try {
    const path = join(folder, name);
    writeFileSync(path, text.replace('ExecStart=/usr/bin/node', `ExecStart=${process.execPath}`));
    const { stderr, status, error } = spawnSync('systemd-analyze', ['verify', '--man=no', path], { encoding: 'utf8' });
    if (error !== undefined) throw error;
    // Other units of the machine may have faults of their own.
    const ours = stderr.split('\n').filter((line) => line.includes(name));
    return status === 0 && ours.length === 0 ? '' : ours.join('\n') || stderr;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

