import { createClient, CreateMode, type ZooKeeperClient } from 'node-zookeeper-client';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../shared/time/clock.js';
import { eventually } from '../kit/eventually.js';
import { ZooKeeperServer } from '../kit/zookeeper.js';
import { memberNamed } from './registry.js';
import { proxiedRegistry } from './registry-on-zookeeper.js';

let server: ZooKeeperServer;
let client: ZooKeeperClient;
const open: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  server = await ZooKeeperServer.start();
  client = createClient(server.connect, { sessionTimeout: 4_000, spinDelay: 100, retries: 0 });
  await new Promise<void>((resolve) => {
    client.on('connected', resolve);
    client.connect();
  });
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});
afterAll(async () => {
  client.close();
  await server.stop();
});

/** Sweeps come every 200 ms in place of every minute. */
const hasty: Clock = Object.assign(Object.create(systemClock) as Clock, {
  after: (delayMs: number, callback: () => void, options?: { unref?: boolean }) => systemClock.after(delayMs === 60_000 ? 200 : delayMs, callback, options),
});

function children(folder: string): Promise<string[]> {
  return new Promise((resolve, reject) => client.getChildren(folder, undefined, (error, names) => (error ? reject(error) : resolve(names ?? []))));
}

function put(path: string, mode: number): Promise<void> {
  return new Promise((resolve, reject) => client.create(path, Buffer.alloc(0), mode, (error) => (error ? reject(error) : resolve())));
}

it('removes nodes of its own session that belong to nothing, and tells each', async () => {
  const one = await proxiedRegistry(server.port, 'orphans', { clock: hasty });
  open.push(one);
  const found: string[] = [];
  one.registry.onOrphan((path) => found.push(path));
  const registration = one.registry.register(memberNamed('a'));
  const election = one.registry.elect('lead', 'a');
  await registration.ready();
  await eventually(() => election.leading);
  const [members, elections] = ['/lts/orphans/members/job-tracker', '/lts/orphans/elections/lead'];
  const before = [await children(members), await children(elections)];

  // Of others, and for good: they stay, whatever they look like.
  await put(`${elections}/n-00000000-0000-4000-8000-000000000000-9999999998`, CreateMode.EPHEMERAL);
  await put(`${members}/kept`, CreateMode.PERSISTENT);
  const orphans = [`${elections}/n-11111111-0000-4000-8000-000000000000-0000000000`, `${members}/gone-0000`];
  for (const path of orphans) await one.createOrphan(path);

  await eventually(() => found.length === 2, { what: 'both are found' });
  expect(found.toSorted()).toEqual(orphans.toSorted());
  await eventually(() => election.leading && one.registry.state === 'CONNECTED');
  expect((await children(members)).toSorted()).toEqual([...(before[0] ?? []), 'kept'].toSorted());
  expect((await children(elections)).toSorted()).toEqual([...(before[1] ?? []), 'n-00000000-0000-4000-8000-000000000000-9999999998'].toSorted());
  expect(registration.registered).toBe(true);
});

it('finds them among many nodes of others, a hundred at a time', async () => {
  const one = await proxiedRegistry(server.port, 'many', { clock: hasty });
  open.push(one);
  const found: string[] = [];
  one.registry.onOrphan((path) => found.push(path));
  const registration = one.registry.register(memberNamed('a'));
  await registration.ready();
  const folder = '/lts/many/members/job-tracker';
  await Promise.all(Array.from({ length: 250 }, (_, i) => put(`${folder}/m-${String(i).padStart(3, '0')}`, CreateMode.EPHEMERAL)));
  await one.createOrphan(`${folder}/m-249-orphan`);
  await eventually(() => found.length === 1, { what: 'it is found' });
  expect(await children(folder)).toHaveLength(251);
});
