import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { formatAddress } from '../../shared/config/kinds.js';
import { LtsError, messageOf } from '../../shared/errors/lts-error.js';
import { type OwnerLock, takeOwnerLock } from '../../shared/failstore/owner-lock.js';
import type { Health } from '../../shared/grpc/health.js';
import { createServer, listen, shutDown } from '../../shared/grpc/listen.js';
import { newId } from '../../shared/ids.js';
import type { Logger } from '../../shared/log/logger.js';
import { version } from '../../shared/package-root.js';
import { tzdataVersion } from '../../shared/schedule/tzdata.js';
import { FirstTime } from '../../shared/registry/first-time.js';
import { LocalRegistry } from '../../shared/registry/registries/local.js';
import { ZooKeeperRegistry } from '../../shared/registry/registries/zookeeper/zookeeper-registry.js';
import type { Registry } from '../../shared/registry/registry.js';
import { openSelfSocket } from '../../shared/self/self-socket.js';
import { type Clock, systemClock } from '../../shared/time/clock.js';
import { withDeadline } from '../../shared/time/deadline.js';
import type { JobTrackerConfig } from './config.js';
import { adoptStore, refuseOlderTrackers, refuseTrackers } from './lead/adopt-store.js';
import type { QueueStore } from './queue/queue-store.js';
import { createPostgresStore } from './queue/stores/postgres/postgres-store.js';
import { PostgresTools } from './queue/stores/postgres/postgres-tools.js';
import { createSqliteStore } from './queue/stores/sqlite/sqlite-store.js';
import { SqliteTools } from './queue/stores/sqlite/sqlite-tools.js';
import type { StoreTools } from './queue/store-tools.js';
import { serve } from './rpc/serve.js';
import { TrackerCore } from './tracker-core.js';

/** What surrounds a service. */
export interface JobTrackerSurroundings {
  log: Logger;
  clock?: Clock;
}

/** A running JobTracker. */
export interface RunningJobTracker {
  /** host:port that it serves on. */
  readonly address: string;
  /** Rejects when the service cannot go on (its store has failed for good): end the process then, so that another takes over. */
  readonly closed: Promise<void>;
  /** A planned leave: stops admitting, flushes, releases, tells workers and clients, ends. Never rejects. */
  drain(): Promise<void>;
}

const flushWithinMs = 1_000;
const callsWithinMs = 500;
const registryWithinMs = 15_000;

/** Starts a JobTracker. Rejects with CONFIG_INVALID, or with the STORE_ reason, when it cannot. */
export async function startJobTracker(config: JobTrackerConfig, { log, clock = systemClock }: JobTrackerSurroundings): Promise<RunningJobTracker> {
  const alone = config.zookeeper === undefined;
  if (config.store === 'sqlite') makeFolder(config.dataDir);
  const lock = alone && config.store === 'sqlite' ? lockAlone(config.dataDir) : undefined;
  const registry = createRegistry(config, log, clock);
  const store = createStore(config, clock);
  const server = createServer();
  const incarnation = newId();
  const closed = new FirstTime();
  const core = new TrackerCore({ config: { ...config, partitions: partitionsOf(config) }, store, registry, spread: config.store === 'postgres', alone, incarnation, clock, newId, log, onFailed: (error) => closed.never(error) });
  const close = async (): Promise<void> => {
    await registry.close();
    await store.close();
    lock?.release();
  };
  let health: Health;
  let bound: number;
  try {
    await core.ownership.open();
    health = serve(server, core, config, log);
    bound = await listen(server, config.listen.host, config.listen.port);
  } catch (error) {
    server.forceShutdown();
    await close();
    throw error;
  }
  const address = formatAddress({ host: config.listen.host, port: bound });
  registry.start().catch((error: unknown) => log.warn('registry.failed', { operation: 'start', error }));
  const nodeId = config.nodeId ?? `job-tracker-${hostname()}-${bound}`.slice(0, 128);
  core.start({
    kind: 'job-tracker',
    nodeId,
    incarnation,
    nodeGroup: '',
    address: config.advertise === undefined ? address : formatAddress(config.advertise),
    version,
    startedAt: clock.now(),
    tzdata: tzdataVersion,
  });
  let leaving = false;
  core.onServing((serving) => health.setServing(serving && !leaving));
  const self = openSelfSocket({ dataDir: config.dataDir, service: 'job-tracker', state: () => ({ nodeId, address, leaving, unready: '' }), log });
  return {
    address,
    closed: closed.promise,
    drain: async () => {
      leaving = true;
      health.setServing(false);
      await core.handOver();
      core.stopTaking();
      await withDeadline(core.flushed(), flushWithinMs, 'flushing what was admitted', clock).catch((error: unknown) => log.warn('store.failed', { operation: 'flush', error }));
      await core.leave();
      await shutDown(server, callsWithinMs, clock);
      await close();
      self.close();
    },
  };
}

/** A store that many hosts share is cut into more pieces, so that they can share the work. */
function partitionsOf({ partitions, store }: JobTrackerConfig): number {
  return partitions ?? (store === 'postgres' ? 64 : 1);
}

function createStore(config: JobTrackerConfig, clock: Clock): QueueStore {
  const wanted = { cluster: config.cluster, partitions: partitionsOf(config) };
  const { postgresUrl: url, postgresPooled: pooled, requireSyncReplica } = config;
  if (config.store === 'postgres' && url !== undefined) {
    return createPostgresStore({ url, pooled, requireSyncReplica, who: config.nodeId ?? String(process.pid), clock, ...wanted });
  }
  return createSqliteStore({ file: join(config.dataDir, 'queue.db'), lockWaitMs: config.lockWait, ...wanted });
}

/** Tools for the store that the settings name. */
export function openStoreTools(config: JobTrackerConfig, clock: Clock = systemClock): StoreTools {
  const { cluster, partitions, postgresUrl, postgresPooled, requireSyncReplica } = config;
  if (config.store === 'postgres' && postgresUrl !== undefined) return new PostgresTools(postgresUrl, postgresPooled, { cluster, partitions, requireSyncReplica }, clock);
  return new SqliteTools({ file: join(config.dataDir, 'queue.db'), cluster, partitions: partitionsOf(config) }, config.lockWait);
}

/** Runs work with a connection to the cluster's registry; undefined without a ZooKeeper. */
async function withRegistry<T>(config: JobTrackerConfig, log: Logger, work: (registry: Registry) => Promise<T>): Promise<T | undefined> {
  if (config.zookeeper === undefined) return undefined;
  const registry = createRegistry(config, log, systemClock);
  try {
    await withDeadline(registry.start(), registryWithinMs, `reaching ZooKeeper ${config.zookeeper}`, systemClock);
    return await work(registry);
  } finally {
    await registry.close();
  }
}

/** Runs all migrations, unless a tracker needs what they take away. Tells their names. */
export async function migrateStore(config: JobTrackerConfig, log: Logger): Promise<string[]> {
  await withRegistry(config, log, (registry) => refuseOlderTrackers(registry, version, systemClock));
  return openStoreTools(config).migrate();
}

/** What an adoption did. */
export interface Adopted {
  storeId: string;
  /** The cluster's store until then; undefined for none, or without a ZooKeeper, where nothing names it. */
  before: string | undefined;
}

/** Makes the store of the settings the cluster's, and lets workers follow it that remember a later state of it. TRACKERS_RUNNING. */
export async function adoptStoreOf(config: JobTrackerConfig, force: boolean, log: Logger): Promise<Adopted> {
  const tools = openStoreTools(config);
  const { storeId } = (await tools.check()).identity;
  if (config.zookeeper === undefined) await tools.raiseEpochs();
  const before = await withRegistry(config, log, async (registry) => {
    if (!force) await refuseTrackers(registry, systemClock);
    // A tracker that stands from now on takes its partitions under the raised epochs.
    await tools.raiseEpochs();
    return adoptStore(registry, storeId);
  });
  return { storeId, before };
}

function makeFolder(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true });
  } catch (error) {
    throw new LtsError('CONFIG_INVALID', `data-dir: cannot make the folder ${dataDir}: ${messageOf(error)}; choose another --data-dir`, { cause: error });
  }
}

/** Without a registry nothing else keeps two trackers from fencing each other off in turns. */
function lockAlone(dataDir: string): OwnerLock {
  const note = join(dataDir, 'owner.pid');
  const lock = takeOwnerLock(dataDir);
  if (lock === undefined) throw new LtsError('STORE_LOCKED', `process ${holderIn(note)} holds ${dataDir}; end it, or choose another --data-dir (trackers share one only with a ZooKeeper)`);
  writeFileSync(note, `${process.pid}\n`);
  return lock;
}

/** For people: the lock itself does not tell who has it. */
function holderIn(note: string): string {
  try {
    return readFileSync(note, 'utf8').trim();
  } catch {
    return '(unknown)';
  }
}

function createRegistry(config: JobTrackerConfig, log: Logger, clock: Clock): Registry {
  if (config.zookeeper === undefined) return new LocalRegistry(undefined, log);
  return new ZooKeeperRegistry({ connect: config.zookeeper, cluster: config.cluster, sessionTimeoutMs: config.sessionTimeout, keepTrying: true, log, clock });
}
