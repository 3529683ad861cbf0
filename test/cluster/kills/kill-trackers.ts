import { join } from 'node:path';
import { JobClient } from '../../../services/job-client/index.js';
import { TaskTracker } from '../../../services/task-tracker/index.js';
import { systemClock } from '../../../shared/time/clock.js';
import type { Admin } from '../admin.js';
import { Cluster } from '../cluster.js';
import { Random } from '../../simulation/random.js';
import { eventually } from '../../kit/eventually.js';
import { compareTimes, type SeenRun, type TimeRow } from './compare-times.js';
import { everySecond, secondMs } from './scheduled-jobs.js';

/** What is done. */
export interface Kills {
  store: 'sqlite' | 'postgres';
  trackers: number;
  kills: number;
  /** Schedules that fire every second. */
  jobs: number;
  /** From one kill to the next, on average. */
  everyMs: number;
  seed: number;
  say?: (line: string) => void;
}

/** What came of it. */
export interface Killed {
  /** Scheduled times that became rows, and runs that were seen. */
  rows: number;
  runs: number;
  passed: number;
  /** Empty: the expected set is the executed set and the passed rows, and nothing ran twice. */
  wrong: string[];
}

const groupNames = ['work', 'mail', 'report', 'index'];
/** The first time is so far away that all schedules are there before it. */
const untilFirstMs = 8_000;

/** Schedules fire every second while trackers are killed (SIGKILL) at random instants and started again at once. */
export async function killTrackers(options: Kills): Promise<Killed> {
  const cluster = await Cluster.start({ trackers: options.trackers, store: options.store });
  const seen: SeenRun[] = [];
  const workers = groupNames.map(
    (nodeGroup) =>
      new TaskTracker({
        trackers: cluster.addresses, nodeGroup, workThreads: 200, dataDir: join(cluster.folder, 'workers'), nodeId: `worker-${nodeGroup}`,
        runners: ({ job, scheduledTime }) => void seen.push({ task: job.taskId, scheduledAt: scheduledTime.getTime() }),
      }),
  );
  const client = new JobClient({ trackers: cluster.addresses, submitTimeout: 60_000 });
  try {
    await Promise.all(workers.map((worker) => worker.start()));
    await Promise.all(workers.map((worker) => worker.connected));
    return await play(options, cluster, client, seen);
  } finally {
    await client.close();
    await Promise.all(workers.map((worker) => worker.drain()));
    await cluster.stop();
  }
}

async function play({ kills, jobs, everyMs, seed, say = () => undefined }: Kills, cluster: Cluster, client: JobClient, seen: SeenRun[]): Promise<Killed> {
  const random = new Random(seed);
  const firstAt = Math.ceil((systemClock.now() + untilFirstMs) / secondMs) * secondMs;
  const schedules = everySecond(jobs, groupNames, firstAt);
  const refused = (await client.submitMany(schedules)).find(({ outcome }) => outcome !== 'SUBMIT_OUTCOME_ACCEPTED');
  if (refused !== undefined) throw new Error(`a schedule was not accepted: ${refused.outcome} ${refused.message}`);
  if (systemClock.now() >= firstAt) throw new Error('the schedules were not there in time');
  await systemClock.sleep(firstAt - systemClock.now());

  for (let kill = 1; kill <= kills; kill++) {
    await systemClock.sleep(random.between(0, 2 * everyMs));
    const tracker = random.pick(cluster.trackers);
    await tracker.kill();
    await tracker.start(60_000);
    say(`kill ${kill} of ${kills}: tracker ${tracker.name}; ${seen.length} runs so far`);
  }

  const lastAt = Math.floor(systemClock.now() / secondMs) * secondMs;
  const tasks = schedules.map(({ task_id }) => task_id);
  await eventually(() => reached(tasks, seen, lastAt), { withinMs: 60_000, everyMs: 500, what: 'every schedule has fired for a time after the last kill' });
  const deletedFrom = Math.floor(systemClock.now() / secondMs) * secondMs - 5 * secondMs;
  await Promise.all(schedules.map(({ task_id, node_group }) => client.schedules.delete({ task_id, node_group })));
  await eventually(async () => (await queued(cluster)) === 0, { withinMs: 60_000, everyMs: 200, what: 'all runs have ended' });
  const rows = await rowsOf(cluster.liveTrackers[0]?.admin);
  const wrong = compareTimes({ tasks, firstAt, lastAt, deletedFrom: Math.max(deletedFrom, lastAt) }, rows, seen);
  return { rows: rows.length, runs: seen.length, passed: rows.filter(({ state }) => state !== 'SUCCEEDED').length, wrong };
}

/** Whether a run of each task for this time or a later one has begun. */
function reached(tasks: readonly string[], seen: readonly SeenRun[], time: number): boolean {
  const there = new Set(seen.flatMap(({ task, scheduledAt }) => (scheduledAt >= time ? [task] : [])));
  return tasks.every((task) => there.has(task));
}

async function queued(cluster: Cluster): Promise<number> {
  const all = await Promise.all(cluster.liveTrackers.map(async ({ admin }) => ((await admin.cluster()).owned.length === 0 ? [] : admin.queues())));
  return all.flat().reduce((sum, { waiting, ready, executing }) => sum + waiting + ready + executing, 0);
}

async function rowsOf(admin: Admin | undefined): Promise<TimeRow[]> {
  const instances = (await admin?.instances()) ?? [];
  return instances.map(({ job, scheduled_time, state }) => ({ task: job?.task_id ?? '', scheduledAt: Number(scheduled_time), state: state.replace('INSTANCE_STATE_', '') }));
}
