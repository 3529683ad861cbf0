import { afterEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../shared/log/logger.js';
import { ZooKeeperRegistry } from '../../shared/registry/registries/zookeeper/zookeeper-registry.js';
import type { RegistryState } from '../../shared/registry/registry.js';
import { systemClock } from '../../shared/time/clock.js';
import { eventually } from '../kit/eventually.js';
import { FakeZooKeeper, type FakeMode } from '../kit/fake-zookeeper.js';

/** Session time of these tests. */
const sessionMs = 1_200;
const open: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await one.close();
});

async function fakeServer(mode: FakeMode): Promise<FakeZooKeeper> {
  const fake = await FakeZooKeeper.start(mode);
  open.push({ close: () => fake.stop() });
  return fake;
}

function registryOn(connect: string, startDeadlineMs = 5_000): { registry: ZooKeeperRegistry; states: RegistryState[] } {
  const registry = new ZooKeeperRegistry({ connect, cluster: 'c', sessionTimeoutMs: sessionMs, startDeadlineMs, keepTrying: true, log: silentLogger, random: () => 0 });
  open.push({ close: () => registry.close() });
  const states: RegistryState[] = [];
  registry.onState((state) => states.push(state));
  return { registry, states };
}

describe('a server that takes connections but never shakes hands', () => {
  it('is left for the next one', async () => {
    const [mute, good] = [await fakeServer('mute'), await fakeServer('good')];
    const { registry } = registryOn(`${mute.connect},${good.connect}`);
    const began = systemClock.monotonic();
    await registry.start();
    expect(registry.state).toBe('CONNECTED');
    expect(systemClock.monotonic() - began).toBeLessThan(sessionMs);
    await eventually(() => mute.open === 0);
    expect(mute.handshakes).toBe(0);
  });

  it('is tried again until it does, and close() does not wait for it', async () => {
    const mute = await fakeServer('mute');
    const { registry, states } = registryOn(mute.connect, sessionMs);
    await expect(registry.start()).rejects.toMatchObject({ reason: 'REGISTRY_UNAVAILABLE', message: expect.stringContaining('no session within') });
    mute.mode = 'good';
    await eventually(() => registry.state === 'CONNECTED', { withinMs: sessionMs });
    mute.mode = 'mute';
    mute.cut();
    await eventually(() => registry.state === 'LOST', { withinMs: sessionMs * 1.2 });
    expect(states).toEqual(['CONNECTED', 'SUSPENDED', 'LOST']);
    const began = systemClock.monotonic();
    await registry.close();
    expect(systemClock.monotonic() - began).toBeLessThan(200);
  });
});

describe('a server that shakes hands and then answers nothing', () => {
  it('is noticed before half the session time, and no operation hangs', async () => {
    const fake = await fakeServer('good');
    const { registry, states } = registryOn(fake.connect);
    await registry.start();
    fake.mode = 'no-answers';
    const began = systemClock.monotonic();
    await expect(registry.document('d').read()).rejects.toMatchObject({ reason: 'REGISTRY_UNAVAILABLE', message: expect.stringContaining('no answer to "get') });
    expect(systemClock.monotonic() - began).toBeLessThan(sessionMs / 2);
    expect(states).toEqual(['CONNECTED', 'SUSPENDED']);
    fake.mode = 'good';
    await eventually(() => registry.state === 'CONNECTED', { withinMs: sessionMs });
    expect(await registry.document('d').read()).toBeNull();
  });
});

describe('a server that answers probes and nothing else', () => {
  it('answers out of order: the operation fails, and its connection', async () => {
    const fake = await fakeServer('good');
    const { registry, states } = registryOn(fake.connect);
    await registry.start();
    fake.mode = 'only-probes';
    const began = systemClock.monotonic();
    await expect(registry.document('d').read()).rejects.toMatchObject({ reason: 'REGISTRY_UNAVAILABLE' });
    expect(systemClock.monotonic() - began).toBeLessThan(sessionMs / 2);
    expect(states).toEqual(['CONNECTED', 'SUSPENDED']);
  });
});

describe.each(['half-packet', 'garbage'] as const)('a server that sends %s', (mode) => {
  it('is left at once, and taken again when it has come to its senses', async () => {
    const fake = await fakeServer('good');
    const { registry } = registryOn(fake.connect);
    await registry.start();
    fake.mode = mode;
    fake.cut();
    await eventually(() => fake.handshakes >= 3, { withinMs: sessionMs * 2 });
    fake.mode = 'good';
    await eventually(() => registry.state === 'CONNECTED', { withinMs: sessionMs });
    expect(await registry.document('d').read()).toBeNull();
  });
});

describe('an error code that the library does not know', () => {
  it.each([-119, -122, -124, -125, -127])('%i fails the operation alone', async (code) => {
    const fake = await fakeServer('good');
    const { registry, states } = registryOn(fake.connect);
    await registry.start();
    fake.mode = 'code';
    fake.code = code;
    await expect(registry.document('d').read()).rejects.toMatchObject({ reason: 'REGISTRY_UNAVAILABLE', message: expect.stringContaining(String(code)) });
    await expect(registry.electionNodes('lead')).rejects.toMatchObject({ message: expect.stringContaining(String(code)) });
    expect(states).toEqual(['CONNECTED']);
    expect(fake.handshakes).toBe(1);
  });

  it('-118, the session has moved, begins another connection', async () => {
    const fake = await fakeServer('good');
    const { registry, states } = registryOn(fake.connect);
    await registry.start();
    fake.mode = 'code';
    fake.code = -118;
    await expect(registry.document('d').read()).rejects.toMatchObject({ reason: 'REGISTRY_UNAVAILABLE' });
    fake.mode = 'good';
    await eventually(() => fake.handshakes === 2 && registry.state === 'CONNECTED');
    expect(states).toEqual(['CONNECTED', 'SUSPENDED', 'CONNECTED']);
  });
});

describe('a session that has expired', () => {
  it('is LOST, and replaced as soon as a server grants a new one', async () => {
    const fake = await fakeServer('good');
    const { registry, states } = registryOn(fake.connect);
    await registry.start();
    fake.mode = 'expired';
    fake.cut();
    await eventually(() => states.at(-1) === 'LOST', { withinMs: sessionMs });
    const handshakes = fake.handshakes;
    await systemClock.sleep(300);
    // Refused again and again, it slows down.
    expect(fake.handshakes - handshakes).toBeLessThan(20);
    fake.mode = 'good';
    await eventually(() => registry.state === 'CONNECTED', { withinMs: sessionMs });
    expect(states).toEqual(['CONNECTED', 'SUSPENDED', 'LOST', 'CONNECTED']);
  });
});
