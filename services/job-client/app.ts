import { formatAddress } from '../../shared/config/kinds.js';
import { ClusterWatcher } from '../../shared/discovery/cluster-watcher.js';
import { endpointsOf } from '../../shared/failstore/folder-identity.js';
import { createServer, listen, shutDown } from '../../shared/grpc/listen.js';
import { newId } from '../../shared/ids.js';
import type { Logger } from '../../shared/log/logger.js';
import { version } from '../../shared/package-root.js';
import { ZooKeeperRegistry } from '../../shared/registry/registries/zookeeper/zookeeper-registry.js';
import type { Registry } from '../../shared/registry/registry.js';
import { openSelfSocket } from '../../shared/self/self-socket.js';
import { type Clock, systemClock, type Timer } from '../../shared/time/clock.js';
import { withDeadline } from '../../shared/time/deadline.js';
import type { JobClientConfig } from './config.js';
import { type Core, createCore } from './core.js';
import { serve } from './rpc/serve.js';

/** What surrounds the gateway. */
export interface JobClientSurroundings {
  log: Logger;
  /** Default: ZooKeeper when it is configured, otherwise none. A given one is not closed. */
  registry?: Registry;
  clock?: Clock;
}

/** A running gateway. */
export interface RunningJobClient {
  /** host:port that it serves on. */
  readonly address: string;
  /** A planned leave: takes no more, answers what it has, closes. Never rejects. */
  drain(): Promise<void>;
}

const healthEveryMs = 500;
const callsWithinMs = 1_000;

/** Starts the gateway. It needs no tracker to be there. Rejects with CONFIG_INVALID, or what opening the FailStore throws. */
export async function startJobClient(config: JobClientConfig, { log, registry: given, clock = systemClock }: JobClientSurroundings): Promise<RunningJobClient> {
  const own = given === undefined && config.zookeeper !== undefined ? new ZooKeeperRegistry({ connect: config.zookeeper, cluster: config.cluster, keepTrying: true, log, clock }) : undefined;
  const registry = given ?? own;
  const router = new ClusterWatcher({ trackers: config.trackers.map(formatAddress), log, clock, ...(registry === undefined ? {} : { registry }) });
  const core = createCore({
    router,
    log,
    clock,
    submitTimeoutMs: config.submitTimeout,
    dataDir: config.dataDir,
    nodeId: config.nodeId ?? `job-client-${config.listen.port}`,
    scope: { cluster: config.cluster, nodeGroup: '', endpoints: endpointsOf(config.trackers.map(formatAddress), config.zookeeper) },
    failStoreBytes: config.failStoreSize,
  });
  const server = createServer();
  const serving = serve(server, core, config, log);
  const port = await listen(server, config.listen.host, config.listen.port).catch(async (error: unknown) => {
    await core.close();
    await own?.close();
    throw error;
  });
  const address = formatAddress({ host: config.listen.host, port });
  const nodeId = config.nodeId ?? `job-client-${port}`;
  const registration = registry?.register({
    kind: 'job-client',
    nodeId,
    incarnation: newId(),
    nodeGroup: '',
    address: config.advertise === undefined ? address : formatAddress(config.advertise),
    version,
    startedAt: clock.now(),
  });
  own?.start().catch((error: unknown) => log.warn('registry.failed', { operation: 'start', error }));
  let leaving = false;
  const self = openSelfSocket({ dataDir: config.dataDir, service: 'job-client', state: () => ({ nodeId, address, leaving, unready: '' }), log });
  const watch = watchHealth(core, config, clock, (good) => serving.health.setServing(good));
  return {
    address,
    drain: async () => {
      leaving = true;
      watch.cancel();
      serving.health.setServing(false);
      serving.stopTaking();
      await registration?.close();
      await withDeadline(core.submitter.whenIdle(), config.submitTimeout + callsWithinMs, 'answering what was submitted', clock).catch((error: unknown) => log.warn('failstore.failed', { operation: 'drain', error }));
      await shutDown(server, callsWithinMs, clock);
      await core.close();
      await own?.close();
      self.close();
    },
  };
}

/** It may accept work while a tracker answers, or while the FailStore takes more. */
function watchHealth(core: Core, config: JobClientConfig, clock: Clock, tell: (good: boolean) => void): Timer {
  let last: boolean | undefined;
  let timer: Timer;
  const look = (): void => {
    const good = core.router.connected || (core.outbox?.store.counts.bytes ?? Infinity) < config.failStoreSize * 0.98;
    if (good !== last) tell(good);
    last = good;
    timer = clock.after(healthEveryMs, look, { unref: true });
  };
  look();
  return { cancel: () => timer.cancel() };
}
