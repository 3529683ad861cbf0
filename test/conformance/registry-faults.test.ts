import { createClient, CreateMode, type ZooKeeperClient } from 'node-zookeeper-client';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { silentLogger } from '../../shared/log/logger.js';
import { maxDocumentBytes } from '../../shared/registry/limits.js';
import { ZooKeeperRegistry } from '../../shared/registry/registries/zookeeper/zookeeper-registry.js';
import type { Election, Member, Registration, RegistryState } from '../../shared/registry/registry.js';
import { systemClock } from '../../shared/time/clock.js';
import { eventually } from '../kit/eventually.js';
import { ZooKeeperServer } from '../kit/zookeeper.js';
import { memberNamed } from './registry.js';
import { type ProxiedRegistry, proxiedRegistry } from './registry-on-zookeeper.js';

/** Session time of these tests. */
const sessionMs = 2_000;

let server: ZooKeeperServer;
let numbered = 0;
const open: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  server = await ZooKeeperServer.start();
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});
afterAll(() => server.stop());

interface Node extends ProxiedRegistry {
  registration: Registration;
  election: Election;
  /** Monotonic time of each state since the start. */
  states: { state: RegistryState; at: number }[];
}

/** A tracker, so to speak: registered and a candidate. */
async function node(cluster: string, id: string): Promise<Node> {
  const one = await proxiedRegistry(server.port, cluster, { sessionTimeoutMs: sessionMs });
  open.push(one);
  const states: Node['states'] = [];
  one.registry.onState((state) => states.push({ state, at: systemClock.monotonic() }));
  const registration = one.registry.register(memberNamed(id));
  const election = one.registry.elect('lead', id);
  await registration.ready();
  await eventually(() => election.sequence !== undefined);
  return { ...one, registration, election, states };
}

/** Everyone is back: connected, registered, one place each, one leader. */
async function settled(nodes: readonly Node[], withinMs = 5_000): Promise<void> {
  const first = nodes[0] as Node;
  let members: readonly Member[] = [];
  const watch = first.registry.watchMembers('job-tracker', (list) => {
    members = list;
  });
  await eventually(
    async () => {
      const queue = await first.registry.electionNodes('lead');
      const wanted = nodes.map((one) => one.registration.member.nodeId).toSorted();
      const registered = members.map((member) => member.nodeId);
      const places = queue.map((place) => place.candidateId).toSorted();
      const leaders = nodes.filter((one) => one.election.leading).map((one) => one.election.candidateId);
      if (nodes.some((one) => one.registry.state !== 'CONNECTED' || !one.registration.registered)) return false;
      return JSON.stringify([registered, places, leaders]) === JSON.stringify([wanted, wanted, [queue[0]?.candidateId]]);
    },
    { withinMs, what: 'all are registered, one place each, the first leads' },
  );
  watch.close();
}

/** Everything may be written by anybody who reaches ZooKeeper; this is one who does. */
async function stranger(): Promise<ZooKeeperClient> {
  const client = createClient(server.connect, { sessionTimeout: 4_000, spinDelay: 100, retries: 0 });
  open.push({ close: async () => client.close() });
  await new Promise<void>((resolve) => {
    client.on('connected', resolve);
    client.connect();
  });
  return client;
}

function put(client: ZooKeeperClient, path: string, data: string): Promise<void> {
  return new Promise((resolve, reject) => client.create(path, Buffer.from(data), CreateMode.EPHEMERAL, (error) => (error ? reject(error) : resolve())));
}

function replace(client: ZooKeeperClient, path: string, data: Buffer): Promise<void> {
  return new Promise((resolve, reject) => client.setData(path, data, -1, (error) => (error ? reject(error) : resolve())));
}

function take(client: ZooKeeperClient, folder: string, prefix: string): Promise<void> {
  return new Promise((resolve, reject) =>
    client.getChildren(folder, undefined, (error, names) => {
      const name = names?.find((each) => each.startsWith(prefix));
      if (error || name === undefined) return reject(error ?? new Error(`no ${prefix} in ${folder}`));
      client.remove(`${folder}/${name}`, -1, (failure) => (failure ? reject(failure) : resolve()));
    }),
  );
}

const cluster = (): string => `f${++numbered}`;
const at = (one: Node, state: RegistryState, after: number): number => (one.states.find((each) => each.state === state && each.at >= after)?.at ?? Infinity) - after;

describe('a real server that falls silent', () => {
  it.each([0.5, 1, 3])('for %s session times is noticed in time, and all is as before afterwards', async (times) => {
    const name = cluster();
    const nodes = [await node(name, 'a'), await node(name, 'b')];
    await settled(nodes);
    const stopped = systemClock.monotonic();
    server.pause();
    try {
      await systemClock.sleep(times * sessionMs);
      for (const one of nodes) {
        expect(one.election.leading).toBe(false);
        expect(at(one, 'SUSPENDED', stopped)).toBeLessThan(sessionMs / 2);
      }
      const lost = nodes.map((one) => at(one, 'LOST', stopped));
      // Counted from the last sign of life, which may be older than the silence by one probe.
      for (const ms of lost) expect(ms).toBeGreaterThan(sessionMs * 0.75);
      const mostMs = times === 3 ? sessionMs * 1.2 : Infinity;
      for (const ms of lost) expect(ms).toBeLessThanOrEqual(mostMs);
    } finally {
      server.resume();
    }
    await settled(nodes);
    expect(nodes.map((one) => one.registry.state)).toEqual(['CONNECTED', 'CONNECTED']);
  });
});

describe('a real server behind a bad network', () => {
  it('that swallows everything: operations fail in time, the lead ends, and comes back', async () => {
    const name = cluster();
    const nodes = [await node(name, 'a'), await node(name, 'b')] as const;
    await settled(nodes);
    const [leader, rival] = nodes;
    const began = systemClock.monotonic();
    leader.proxy.blackhole();
    const read = leader.registry.document('d').read();
    await expect(read).rejects.toMatchObject({ reason: 'REGISTRY_UNAVAILABLE' });
    expect(systemClock.monotonic() - began).toBeLessThan(sessionMs / 2);
    expect(leader.election.leading).toBe(false);
    await eventually(() => rival.election.leading, { withinMs: sessionMs * 2 });
    // The old leader knew before the new one was made.
    expect(at(leader, 'SUSPENDED', began)).toBeLessThan(systemClock.monotonic() - began);
    expect(leader.registry.state).not.toBe('CONNECTED');
    leader.heal();
    await settled([rival, leader]);
    expect(rival.election.leading).toBe(true);
  });

  it('that cuts answers in the middle, again and again', async () => {
    const one = await node(cluster(), 'a');
    const place = one.election.sequence;
    for (const bytes of [1, 3, 5, 19, 30, 41, 60]) {
      const before = one.proxy.accepted;
      one.proxy.cutAfter('down', bytes);
      await eventually(() => one.proxy.spent && one.proxy.accepted > before && one.election.leading, { withinMs: sessionMs });
    }
    await settled([one]);
    expect(one.election.sequence).toBe(place);
  });

  it('that closes one half of the connection', async () => {
    const one = await node(cluster(), 'a');
    const place = one.election.sequence;
    one.proxy.halfClose();
    await eventually(() => one.proxy.accepted === 2 && one.election.leading, { withinMs: sessionMs });
    await settled([one]);
    expect(one.election.sequence).toBe(place);
  });

  it('that is slow but answers: nothing changes', async () => {
    const one = await node(cluster(), 'a');
    await eventually(() => one.election.leading);
    one.proxy.delay(50);
    await systemClock.sleep(sessionMs);
    expect(one.states).toEqual([]);
    expect(one.election.leading).toBe(true);
  });
});

describe('an answer that never comes', () => {
  it('to the create of a place: the place is found again, and is the only one', async () => {
    const name = cluster();
    const one = await proxiedRegistry(server.port, name, { sessionTimeoutMs: sessionMs });
    open.push(one);
    one.proxy.swallowOnce('down', (bytes) => bytes.includes(`/lts/${name}/elections/lead/n-`));
    const election = one.registry.elect('lead', 'a');
    await eventually(() => election.leading, { withinMs: sessionMs });
    expect(one.proxy.spent).toBe(true);
    expect(await one.registry.electionNodes('lead')).toEqual([{ candidateId: 'a', sequence: 0 }]);
    expect(election.sequence).toBe(0);
  });

  it('to the create of a member: it is registered once', async () => {
    const name = cluster();
    const one = await proxiedRegistry(server.port, name, { sessionTimeoutMs: sessionMs });
    open.push(one);
    let members: readonly Member[] = [];
    one.registry.watchMembers('job-tracker', (list) => {
      members = list;
    });
    one.proxy.swallowOnce('down', (bytes) => bytes.includes(`/lts/${name}/members/job-tracker/a-`));
    const registration = one.registry.register(memberNamed('a'));
    await registration.ready();
    expect(one.proxy.spent).toBe(true);
    await eventually(() => members.length === 1 && registration.registered);
  });

  it('to a write of a document: its outcome is called unknown, and a read tells', async () => {
    const one = await proxiedRegistry(server.port, cluster(), { sessionTimeoutMs: sessionMs });
    open.push(one);
    const document = one.registry.document('d');
    await document.write(Buffer.from('a'), 'create');
    one.proxy.swallowOnce('down');
    await expect(document.write(Buffer.from('b'), 1)).rejects.toMatchObject({ reason: 'REGISTRY_UNAVAILABLE', message: expect.stringContaining('unknown') });
    await eventually(() => one.registry.state === 'CONNECTED');
    expect(await document.read()).toMatchObject({ version: 2 });
  });
});

describe('this process', () => {
  it('standing still for half a session time does not lead until it has looked again', async () => {
    const nodes = [await node(cluster(), 'a')];
    await settled(nodes);
    const until = systemClock.monotonic() + sessionMs / 2;
    while (systemClock.monotonic() < until);
    expect(nodes.map((one) => [one.election.leading, one.registry.state])).toEqual([[false, 'SUSPENDED']]);
    await settled(nodes);
  });

  it('standing still for one and a half session times knows at once that it does not lead', async () => {
    const name = cluster();
    const nodes = [await node(name, 'a'), await node(name, 'b')];
    await settled(nodes);
    const until = systemClock.monotonic() + sessionMs * 1.5;
    while (systemClock.monotonic() < until);
    // No timer and no answer has been looked at yet.
    expect(nodes.map((one) => one.election.leading)).toEqual([false, false]);
    expect(nodes.map((one) => one.registry.state)).toEqual(['LOST', 'LOST']);
    await settled(nodes);
  });
});

describe('the server', () => {
  it('killed and started again finds everyone in their places', async () => {
    const name = cluster();
    const nodes = [await node(name, 'a'), await node(name, 'b')];
    await settled(nodes);
    await server.kill();
    await eventually(() => nodes.every((one) => one.registry.state === 'SUSPENDED'), { withinMs: sessionMs });
    await server.restart();
    await settled(nodes);
    expect(nodes.map((one) => one.registration.registered)).toEqual([true, true]);
  });

  it('with its data wiped gets everything anew', async () => {
    const name = cluster();
    const nodes = [await node(name, 'a'), await node(name, 'b')];
    await settled(nodes);
    await server.kill();
    await server.wipe();
    await server.restart();
    await settled(nodes, sessionMs * 3);
    expect(nodes.map((one) => one.states.some(({ state }) => state === 'LOST'))).toEqual([true, true]);
  });
});

describe('a stranger', () => {
  it('who leaves rubbish among members and places is ignored', async () => {
    const name = cluster();
    const one = await node(name, 'b');
    const client = await stranger();
    const good = memberNamed('a');
    const members = `/lts/${name}/members/job-tracker`;
    await put(client, `${members}/no-json`, '{');
    await put(client, `${members}/empty`, '');
    await put(client, `${members}/long`, JSON.stringify({ ...good, nodeGroup: 'x'.repeat(5_000) }));
    await put(client, `${members}/other-kind`, JSON.stringify({ ...good, kind: 'job-client' }));
    await put(client, `${members}/hostile`, JSON.stringify({ ...good, address: 'a b:1' }));
    await put(client, `${members}/good`, JSON.stringify({ ...good, surplus: true }));
    for (const place of ['a', 'n-1-0000000000', 'n-00000000-0000-4000-8000-000000000000-0', '0000000000']) await put(client, `/lts/${name}/elections/lead/${place}`, 'x');
    let seen: readonly Member[] = [];
    one.registry.watchMembers('job-tracker', (list) => {
      seen = list;
    });
    await eventually(() => seen.length === 2);
    expect(seen).toEqual([good, one.registration.member]);
    await eventually(() => one.election.leading);
    expect(await one.registry.electionNodes('lead')).toHaveLength(1);
  });

  it('who removes a member and a place sees them come back', async () => {
    const name = cluster();
    const nodes = [await node(name, 'a'), await node(name, 'b')] as const;
    await settled(nodes);
    const client = await stranger();
    await take(client, `/lts/${name}/members/job-tracker`, 'a-');
    await settled(nodes);
    await take(client, `/lts/${name}/elections/lead`, 'n-');
    await settled(nodes);
    await eventually(() => nodes[0].election.leading !== nodes[1].election.leading);
    expect(nodes.map((one) => one.states)).toEqual([[], []]);
  });
});

describe('many watches', () => {
  it('5,000 documents and 5,000 members come through a reconnect', async () => {
    const name = cluster();
    const many = 5_000;
    const writer = await proxiedRegistry(server.port, name, { sessionTimeoutMs: 5_000 });
    const reader = await proxiedRegistry(server.port, name, { sessionTimeoutMs: 5_000 });
    open.push(writer, reader);
    const documents = Array.from({ length: many }, (_, i) => `document-with-a-name-of-a-usual-length-${i}`);
    await writer.registry.document('first').write(Buffer.from('x'), 'create');
    await Promise.all(documents.map((path) => writer.registry.document(path).write(Buffer.from(path), 'create')));
    const seen = new Map<string, number>();
    for (const path of documents) reader.registry.document(path).watch((value) => seen.set(path, value?.version ?? 0));
    let members: readonly Member[] = [];
    reader.registry.watchMembers('task-tracker', (list) => {
      members = list;
    });
    for (let i = 0; i < many; i++) writer.registry.register(memberNamed(`w${i}`, { kind: 'task-tracker' }));
    await eventually(() => seen.size === many && members.length === many, { withinMs: 20_000 });
    const before = reader.proxy.accepted;
    reader.proxy.cut();
    await eventually(() => reader.proxy.accepted > before && reader.registry.state === 'CONNECTED');
    await Promise.all(documents.slice(0, 100).map((path) => writer.registry.document(path).write(Buffer.from('y'), 1)));
    await eventually(() => documents.slice(0, 100).every((path) => seen.get(path) === 2), { withinMs: 10_000 });
    expect(reader.registry.state).toBe('CONNECTED');
    expect(reader.proxy.accepted - before).toBeLessThanOrEqual(2);
    expect(members).toHaveLength(many);
  });
});

describe('a counter of requests', () => {
  it('that nears its end renews the connection within the session', async () => {
    const name = cluster();
    const one = await proxiedRegistry(server.port, name, { sessionTimeoutMs: sessionMs, mostRequests: 200 });
    open.push(one);
    const election = one.registry.elect('lead', 'a');
    await eventually(() => election.leading);
    for (let read = 0; read < 500; read++) await one.registry.document('d').read().catch(() => undefined);
    await eventually(() => one.proxy.accepted > 1 && election.leading);
    expect(election.sequence).toBe(0);
  });
});

describe('a document that a stranger made larger than the limit', () => {
  it('is shown without its bytes, and is written anew by whoever reads it', async () => {
    const name = cluster();
    const one = await node(name, 'a');
    const document = one.registry.document('d');
    await document.write(Buffer.from('first'), 'create');
    const seen: (string | undefined)[] = [];
    document.watch((value) => seen.push(value === null ? undefined : `${value.version} ${Buffer.from(value.data).toString()}`));
    const client = await stranger();
    await replace(client, `/lts/${name}/documents/d`, Buffer.alloc(maxDocumentBytes + 1, 'x'));
    await eventually(() => seen.at(-1) === '2 ');
    expect(await document.read()).toEqual({ data: new Uint8Array(), version: 2 });
    expect(await document.write(Buffer.from('again'), 2)).toBe(3);
    await eventually(() => seen.at(-1) === '3 again');
  });
});

describe('start', () => {
  it('is refused with the servers named when none answers, and the registry is closed', async () => {
    const registry = new ZooKeeperRegistry({ connect: '127.0.0.1:1', cluster: 'c', startDeadlineMs: 300, log: silentLogger });
    await expect(registry.start()).rejects.toMatchObject({ reason: 'REGISTRY_UNAVAILABLE', message: expect.stringContaining('127.0.0.1:1') });
    expect(registry.state).toBe('CLOSED');
  });

  it('goes on in the background when asked, and what was registered meanwhile takes effect', async () => {
    const name = cluster();
    const proxy = await import('../kit/tcp-proxy.js').then(({ TcpProxy }) => TcpProxy.start(server.port));
    proxy.refuse();
    const registry = new ZooKeeperRegistry({ connect: proxy.connect, cluster: name, sessionTimeoutMs: sessionMs, startDeadlineMs: 300, keepTrying: true, log: silentLogger });
    open.push({ close: () => registry.close().then(() => proxy.stop()) });
    const registration = registry.register(memberNamed('a'));
    const election = registry.elect('lead', 'a');
    await expect(registry.start()).rejects.toMatchObject({ reason: 'REGISTRY_UNAVAILABLE' });
    expect(registry.state).toBe('LOST');
    proxy.heal();
    await registration.ready();
    await eventually(() => election.leading);
  });
});
