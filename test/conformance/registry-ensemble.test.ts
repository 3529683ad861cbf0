import { afterAll, beforeAll, expect, it } from 'vitest';
import { silentLogger } from '../../shared/log/logger.js';
import { ZooKeeperRegistry } from '../../shared/registry/registries/zookeeper/zookeeper-registry.js';
import type { RegistryState } from '../../shared/registry/registry.js';
import { eventually } from '../kit/eventually.js';
import { ZooKeeperServer } from '../kit/zookeeper.js';
import { memberNamed } from './registry.js';

let servers: ZooKeeperServer[] = [];

beforeAll(async () => {
  servers = await ZooKeeperServer.startEnsemble(3);
});
afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()));
});

it('with one of three servers killed after the other, sessions, members and places stay', async () => {
  const connect = servers.map((server) => server.connect).join();
  const states: RegistryState[] = [];
  const make = async (id: string) => {
    const registry = new ZooKeeperRegistry({ connect, cluster: 'c', sessionTimeoutMs: 5_000, log: silentLogger });
    registry.onState((state) => states.push(state));
    await registry.start();
    const registration = registry.register(memberNamed(id));
    const election = registry.elect('lead', id);
    await registration.ready();
    await eventually(() => election.sequence !== undefined);
    return { registry, registration, election };
  };
  const [a, b] = [await make('a'), await make('b')];
  await eventually(() => a.election.leading);
  for (const server of servers) {
    await server.kill();
    await eventually(async () => a.election.leading && (await b.registry.electionNodes('lead')).length === 2, { withinMs: 20_000 });
    await server.restart();
  }
  expect([a.election.sequence, b.election.sequence]).toEqual([0, 1]);
  expect(b.election.leading).toBe(false);
  expect(states).toContain('SUSPENDED');
  await Promise.all([a.registry.close(), b.registry.close()]);
});
