import { LocalRegistry } from '../../shared/registry/registries/local.js';
import { LocalRegistryHub } from '../../shared/registry/registries/local-hub.js';
import { ZooKeeperServer } from '../kit/zookeeper.js';
import { registryConformance } from './registry.js';
import { type ProxiedRegistry, proxiedRegistry } from './registry-on-zookeeper.js';

registryConformance('local', async () => {
  const hubs = new Map<string, LocalRegistryHub>();
  return {
    make: async (cluster) => {
      const hub = hubs.get(cluster) ?? new LocalRegistryHub();
      hubs.set(cluster, hub);
      const registry = new LocalRegistry(hub);
      await registry.start();
      return { registry, interrupt: () => registry.suspend(), heal: () => registry.resume(), expire: async () => registry.expire() };
    },
    close: async () => undefined,
  };
});

registryConformance('ZooKeeper', async () => {
  const server = await ZooKeeperServer.start();
  const made: ProxiedRegistry[] = [];
  return {
    make: async (cluster) => {
      const one = await proxiedRegistry(server.port, cluster, { sessionTimeoutMs: 4_000 });
      made.push(one);
      return one;
    },
    close: async () => {
      for (const one of made) await one.close();
      await server.stop();
    },
  };
});
