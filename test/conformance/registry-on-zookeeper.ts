import { silentLogger } from '../../shared/log/logger.js';
import { ZooKeeperRegistry, type ZooKeeperRegistryOptions } from '../../shared/registry/registries/zookeeper/zookeeper-registry.js';
import { TcpProxy } from '../kit/tcp-proxy.js';
import { createInSession, expireSession, type StolenSession, sessionIn } from '../kit/zookeeper-session.js';
import type { FaultyRegistry } from './registry.js';

/** A registry on a real ZooKeeper, behind a proxy of its own. */
export interface ProxiedRegistry extends FaultyRegistry {
  registry: ZooKeeperRegistry;
  proxy: TcpProxy;
  /** Makes an ephemeral node in the session of this registry, which does not know of it. */
  createOrphan(path: string): Promise<void>;
  /** Closes both. */
  close(): Promise<void>;
}

/** Starts one, connected unless `start` is false. */
export async function proxiedRegistry(
  port: number,
  cluster: string,
  options: Partial<ZooKeeperRegistryOptions> = {},
  prepare: (proxy: TcpProxy) => void = () => undefined,
): Promise<ProxiedRegistry> {
  const proxy = await TcpProxy.start(port);
  let session: StolenSession | undefined;
  proxy.tap = (direction, bytes) => {
    if (direction === 'down') session = sessionIn(bytes) ?? session;
  };
  prepare(proxy);
  const registry = new ZooKeeperRegistry({ connect: proxy.connect, cluster, sessionTimeoutMs: 2_000, log: silentLogger, ...options });
  await registry.start();
  return {
    registry,
    proxy,
    interrupt: () => proxy.refuse(),
    heal: () => proxy.heal(),
    expire: async () => {
      if (session === undefined) throw new Error('no session was seen');
      await expireSession(port, session);
    },
    createOrphan: (path) => {
      if (session === undefined) throw new Error('no session was seen');
      return createInSession(port, session, path);
    },
    close: async () => {
      await registry.close();
      await proxy.stop();
    },
  };
}
