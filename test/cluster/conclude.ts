import type { Attempt__Output } from '../../shared/grpc/generated/lts/v1/Attempt.js';
import type { Instance__Output } from '../../shared/grpc/generated/lts/v1/Instance.js';
import type { Queue__Output } from '../../shared/grpc/generated/lts/v1/Queue.js';
import { ZooKeeperRegistry } from '../../shared/registry/registries/zookeeper/zookeeper-registry.js';
import { silentLogger } from '../../shared/log/logger.js';
import { checkHistory, type Violation } from '../checker/check-history.js';
import { readHistory, record } from '../checker/history.js';
import { eventually } from '../kit/eventually.js';
import type { Admin } from './admin.js';
import { type Cluster, sessionMs } from './cluster.js';
import type { Load } from './load.js';

const readAtOnce = 20;

/**
 * The end of a whole-system test: stops the load, waits until nothing is on its way, adds to the history what the store
 * and the registry say, and gives the promises that were broken. `wanted`: whose attempts are read, of many instances.
 */
export async function conclude(cluster: Cluster, load: Load, { withinMs = 30_000, wanted }: { withinMs?: number; wanted?: (instance: Instance__Output) => boolean } = {}): Promise<Violation[]> {
  await load.stop();
  const { admin } = await cluster.owner();
  await quiet(cluster.liveTrackers.map((tracker) => tracker.admin), withinMs);
  await recordStored(cluster.history, admin, wanted);
  if (cluster.zookeeper !== undefined) await recordElection(cluster.history, cluster.zookeeper.connect, cluster.liveTrackers.length);
  const events = readHistory(cluster.history);
  if (!events.some(({ kind }) => kind === 'acked') || !events.some(({ kind }) => kind === 'stored')) throw new Error('the history is empty: it proves nothing');
  return checkHistory(events);
}

/** A tracker that owns nothing has no queues. */
async function queuesOf(admin: Admin): Promise<Queue__Output[]> {
  return (await admin.cluster()).owned.length === 0 ? [] : admin.queues();
}

/** Nothing waits, runs or is owed any more. */
async function quiet(admins: readonly Admin[], withinMs: number): Promise<void> {
  let left = '';
  const done = async (): Promise<boolean> => {
    const busy = (await Promise.all(admins.map(queuesOf))).flat().filter(({ waiting, ready, executing, feedback }) => waiting + ready + executing + feedback > 0);
    left = JSON.stringify(busy);
    return busy.length === 0;
  };
  await eventually(done, { withinMs, everyMs: 100, what: 'the queues are empty' }).catch((error: unknown) => {
    throw new Error(`the queues do not get empty: ${left}`, { cause: error });
  });
}

/** Every instance with its attempts; without them where nobody wants them. */
export async function readStore(admin: Admin, wanted: (instance: Instance__Output) => boolean = () => true): Promise<{ instance: Instance__Output; attempts: Attempt__Output[] }[]> {
  const instances = await admin.instances();
  const all: { instance: Instance__Output; attempts: Attempt__Output[] }[] = [];
  for (let at = 0; at < instances.length; at += readAtOnce) {
    const some = instances.slice(at, at + readAtOnce);
    all.push(...(await Promise.all(some.map(async (instance) => ({ instance, attempts: wanted(instance) ? await admin.attempts(instance.instance_id) : [] })))));
  }
  return all;
}

/** Records every instance as the store has it. */
export async function recordStored(history: string, admin: Admin, wanted?: (instance: Instance__Output) => boolean): Promise<void> {
  for (const { instance, attempts } of await readStore(admin, wanted)) {
    record(history, 'stored', {
      kind: 'stored',
      id: instance.instance_id,
      state: instance.state.replace('INSTANCE_STATE_', ''),
      attempts: attempts.map(({ attempt, fencing_token: fence, outcome }) => ({ attempt, fence, outcome: outcome.replace('ATTEMPT_OUTCOME_', '') })),
    });
  }
}

/** Records the queue of the election once it has as many places as trackers live, or as it is when it does not get there. */
export async function recordElection(history: string, connect: string, trackers: number): Promise<void> {
  const registry = new ZooKeeperRegistry({ connect, cluster: 'default', sessionTimeoutMs: sessionMs, log: silentLogger });
  await registry.start();
  let nodes = -1;
  const clean = async (): Promise<boolean> => (nodes = (await registry.electionNodes('job-tracker')).length) === trackers;
  await eventually(clean, { withinMs: 2 * sessionMs, everyMs: 100 }).catch(() => false);
  await registry.close();
  record(history, 'election', { kind: 'election', nodes, trackers });
}
