import type { Logger } from '../../shared/log/logger.js';
import { ZooKeeperRegistry } from '../../shared/registry/registries/zookeeper/zookeeper-registry.js';
import type { Registry } from '../../shared/registry/registry.js';
import type { Clock } from '../../shared/time/clock.js';

/** Begins to connect to ZooKeeper, and goes on until it is closed. Throws CONFIG_INVALID for a bad connection string. */
export function connectZooKeeper(connect: string, cluster: string, log: Logger, clock: Clock): Registry {
  const registry = new ZooKeeperRegistry({ connect, cluster, keepTrying: true, log, clock });
  registry.start().catch((error: unknown) => log.warn('registry.failed', { operation: 'start', error }));
  return registry;
}
