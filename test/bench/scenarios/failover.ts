import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { JobClient } from '../../../services/job-client/index.js';
import { partitionOf } from '../../../shared/partition.js';
import { systemClock } from '../../../shared/time/clock.js';
import { epochOf } from '../../checker/history.js';
import { Admin } from '../../cluster/admin.js';
import { Witness, type WitnessLine } from '../../cluster/witness.js';
import { eventually } from '../../kit/eventually.js';
import { freePort } from '../../kit/ports.js';
import { ServiceProcess } from '../../kit/service-process.js';
import { Child } from '../frame/child.js';
import { storeParent } from '../frame/disk.js';
import { median } from '../frame/statistics.js';
import type { Options } from '../options.js';
import { allOwn, startBacking } from '../ours/servers.js';
import { type LtsSettings, nodeGroupOf, nodeIdOf } from '../ours/settings.js';
import { type Report, table } from '../report.js';
import { whole } from './numbers.js';

const sessionMs = 4_000;
const graceMs = 3_000;
/** Jobs a second over all groups while things happen. */
const perSecond = 500;
const tickMs = 20;
const runMs = 20;
const steadyMs = 3_000;
const soon = { withinMs: 60_000, everyMs: 100 };

/** What one round found. */
interface Round {
  /** From SIGKILL of an owner to the first dispatch in the last one of its groups under a new epoch. */
  failoverMs: number;
  /** Longest pause of dispatch in a group around the drain of its owner. */
  handoverMs: number;
  /** Acked jobs that did not succeed. */
  lost: number;
  /** Attempts that were lost with the killed worker: cut off, on their way to it, or ended without its telling. */
  cutOff: number;
  /** Jobs that have a second attempt. */
  secondAttempts: number;
}

/**
 * Under load over many groups: an owner is killed (SIGKILL), comes back, another owner is asked to leave (SIGTERM), a
 * worker is killed. Only the runs that were cut off with that worker may run a second time, and nothing may be lost.
 */
export async function failover(options: Options): Promise<Report> {
  const rounds: Round[] = [];
  for (let round = 1; round <= options.rounds; round++) {
    const found = await oneRound(options);
    rounds.push(found);
    process.stderr.write(`round ${round} of ${options.rounds}  fail-over ${whole(found.failoverMs)} ms, hand-over ${whole(found.handoverMs)} ms, ${found.cutOff} attempts lost with the worker, ${found.secondAttempts} second attempts, ${found.lost} lost\n`);
  }
  const middle = (value: (round: Round) => number): number => Math.round(median(rounds.map(value)));
  const sum = (value: (round: Round) => number): number => rounds.reduce((total, round) => total + value(round), 0);
  const figures = { failover_ms: middle((round) => round.failoverMs), handover_ms: middle((round) => round.handoverMs), lost: sum((round) => round.lost), second_attempts: sum((round) => round.secondAttempts), cut_off: sum((round) => round.cutOff) };
  const unexplained = figures.second_attempts - figures.cut_off;
  return {
    text: [
      `failover: ${options.store}, trackers ${options.trackers}, groups ${options.groups}, ${perSecond} jobs/s, session ${sessionMs} ms; medians of ${options.rounds} rounds`,
      table(['fail-over ms', 'hand-over ms', 'attempts lost with a worker', 'second attempts', 'lost'], [[whole(figures.failover_ms), whole(figures.handover_ms), whole(figures.cut_off), whole(figures.second_attempts), whole(figures.lost)]]),
    ].join('\n'),
    json: { scenario: 'failover', store: options.store, trackers: options.trackers, groups: options.groups, ...figures },
    fault: figures.lost === 0 && unexplained === 0 ? undefined : `${figures.lost} jobs lost, and ${figures.second_attempts} second attempts for ${figures.cut_off} attempts that were lost with the killed worker`,
  };
}

async function oneRound(options: Options): Promise<Round> {
  const folder = mkdtempSync(join(storeParent(), 'failover-'));
  const backing = await startBacking({ ...options, parent: storeParent() });
  const scene = new Scene(options.groups, folder, backing.args);
  try {
    await scene.start(options.trackers);
    return await play(scene);
  } finally {
    await scene.stop();
    await backing.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function play(scene: Scene): Promise<Round> {
  const [first, second] = scene.trackers;
  if (first === undefined || second === undefined) throw new Error('there is nobody who could take over');
  await systemClock.sleep(steadyMs);

  const struck = await scene.groupsOf(first);
  const before = scene.epochs();
  const killedAt = systemClock.now();
  first.process.kill();
  await first.process.exited();
  const failoverMs = await scene.dispatchedAnew(struck, before, killedAt);

  await first.start();
  await allOwn(scene.addresses);
  await systemClock.sleep(steadyMs);
  const moved = await scene.groupsOf(second);
  const leftAt = systemClock.now();
  await second.process.stop();
  await systemClock.sleep(steadyMs);
  const handoverMs = scene.longestPause(moved, leftAt - 500);

  await scene.killWorker();
  await systemClock.sleep(graceMs + steadyMs);
  return { failoverMs, handoverMs, ...(await scene.conclude()) };
}

/** A tracker that may be started again at its address. */
class Tracker {
  readonly address: string;
  readonly admin: Admin;
  readonly #args: string[];
  #process: ServiceProcess | undefined;

  constructor(name: string, address: string, args: readonly string[]) {
    this.address = address;
    this.admin = new Admin(address);
    this.#args = ['job-tracker', '--node-id', name, '--listen', address, '--session-timeout', `${sessionMs}ms`, '--grace', `${graceMs}ms`, ...args];
  }

  get process(): ServiceProcess {
    if (this.#process === undefined) throw new Error('the tracker was not started');
    return this.#process;
  }

  async start(): Promise<void> {
    this.#process = new ServiceProcess(this.#args);
    await this.#process.address();
  }
}

/** The trackers, two processes of workers, one client, and what they wrote down. */
class Scene {
  readonly trackers: Tracker[] = [];
  readonly #groups: number;
  readonly #folder: string;
  readonly #args: readonly string[];
  readonly #witness: Witness;
  readonly #workers: Child[] = [];
  readonly #acked = new Set<string>();
  readonly #calls: Promise<void>[] = [];
  #killed = -1;
  #client: JobClient | undefined;
  #stopped = false;
  #loading: Promise<void> | undefined;

  constructor(groups: number, folder: string, args: readonly string[]) {
    this.#groups = groups;
    this.#folder = folder;
    this.#args = args;
    this.#witness = new Witness(folder);
  }

  get addresses(): string[] {
    return this.trackers.map(({ address }) => address);
  }

  async start(trackers: number): Promise<void> {
    for (let number = 0; number < trackers; number++) {
      const tracker = new Tracker(`tracker-${number}`, `127.0.0.1:${await freePort()}`, this.#args);
      this.trackers.push(tracker);
      await tracker.start();
    }
    await allOwn(this.addresses);
    for (let number = 0; number < 2; number++) {
      const worker = new Child(new URL('../ours/witness-workers.js', import.meta.url));
      this.#workers.push(worker);
      await worker.call('open', { trackers: this.addresses, folder: this.#folder, groups: this.#groups, workThreads: 8 } satisfies LtsSettings);
    }
    this.#client = new JobClient({ trackers: this.addresses, submitTimeout: 30_000 });
    this.#loading = this.#load(this.#client);
  }

  /** Groups whose partitions the tracker owns. */
  async groupsOf(tracker: Tracker): Promise<Set<string>> {
    const { owned, map } = await tracker.admin.cluster();
    const partitions = new Set(owned.map(({ partition }) => partition));
    const all = Array.from({ length: this.#groups }, (_, group) => nodeGroupOf(group, this.#groups));
    return new Set(all.filter((group) => partitions.has(partitionOf(group, map?.partitions ?? 1))));
  }

  /** The newest epoch under which something ran, by group. */
  epochs(): Map<string, number> {
    const newest = new Map<string, number>();
    for (const { task, fence } of this.#witness.starts()) newest.set(groupOf(task), Math.max(newest.get(groupOf(task)) ?? 0, epochOf(fence)));
    return newest;
  }

  /** Waits until something has run in each of the groups under a newer epoch; tells how long after `since` the last of them began. */
  async dispatchedAnew(groups: Set<string>, before: Map<string, number>, since: number): Promise<number> {
    const firsts = (): number[] => {
      const at = new Map<string, number>();
      for (const line of this.#witness.starts()) {
        const group = groupOf(line.task);
        if (groups.has(group) && epochOf(line.fence) > (before.get(group) ?? 0) && !at.has(group)) at.set(group, line.at - since);
      }
      return at.size === groups.size ? [...at.values()] : [];
    };
    return Math.max(...(await eventually(() => (firsts().length > 0 ? firsts() : undefined), { ...soon, what: 'work goes on in every group of the killed owner' })));
  }

  longestPause(groups: Set<string>, from: number): number {
    const starts = this.#witness.starts();
    const pause = (group: string): number => {
      const times = [from, ...starts.filter(({ task, at }) => groupOf(task) === group && at >= from).map(({ at }) => at).toSorted((a, b) => a - b)];
      return Math.max(...times.slice(1).map((at, i) => at - (times[i] ?? at)));
    };
    return Math.max(...[...groups].map(pause));
  }

  async killWorker(): Promise<void> {
    const worker = this.#workers.shift();
    this.#killed = worker?.pid ?? -1;
    await worker?.kill();
  }

  /** Ends the load, waits until nothing is on its way, and compares what was promised with what happened. */
  async conclude(): Promise<Pick<Round, 'lost' | 'cutOff' | 'secondAttempts'>> {
    this.#stopped = true;
    await this.#loading;
    await Promise.all(this.#calls);
    const live = this.trackers.filter(({ process: { ended } }) => ended === undefined);
    const empty = async (): Promise<boolean> => (await Promise.all(live.map(({ admin }) => admin.queues()))).flat().every(({ waiting, ready, executing }) => waiting + ready + executing === 0);
    await eventually(empty, { ...soon, what: 'the queues are empty' });
    const { admin } = live[0] as Tracker;
    const stored = new Map((await admin.instances()).map((instance) => [instance.instance_id, instance]));
    const second = [...stored.values()].filter(({ attempt }) => attempt > 1);
    const firsts = await Promise.all(second.map(async ({ instance_id }) => (await admin.attempts(instance_id))[0]));
    const lostWithIt = second.filter((_, i) => firsts[i]?.outcome === 'ATTEMPT_OUTCOME_LOST' && firsts[i]?.task_tracker === nodeIdOf(this.#killed));
    const known = new Set(lostWithIt.map(({ instance_id }) => instance_id));
    const ended = new Set(this.#witness.ends().map(keyOf));
    const unseen = this.#witness.starts().filter((line) => !ended.has(keyOf(line)) && !known.has(line.id));
    if (unseen.length > 0) throw new Error(`${unseen.length} runs were cut off and are no lost attempts in the store`);
    return {
      lost: [...this.#acked].filter((id) => stored.get(id)?.state !== 'INSTANCE_STATE_SUCCEEDED').length,
      cutOff: lostWithIt.length,
      secondAttempts: second.length,
    };
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#client?.close();
    for (const worker of this.#workers) await worker.end();
    for (const { admin, process } of this.trackers) {
      process.kill();
      admin.close();
    }
  }

  async #load(client: JobClient): Promise<void> {
    const begun = systemClock.monotonic();
    for (let sent = 0; !this.#stopped; await systemClock.sleep(tickMs)) {
      for (const due = ((systemClock.monotonic() - begun) * perSecond) / 1_000; sent < due; sent++) this.#calls.push(this.#submit(client, sent));
    }
  }

  async #submit(client: JobClient, number: number): Promise<void> {
    const nodeGroup = nodeGroupOf(number, this.#groups);
    const { instance_id } = await client.submit({ task_id: `${nodeGroup}/${number}`, node_group: nodeGroup, type: 'slow', payload: String(runMs), ext_params: { history: this.#folder } });
    if (instance_id !== undefined) this.#acked.add(instance_id);
  }
}

const keyOf = ({ id, attempt, pid }: WitnessLine): string => `${id} ${attempt} ${pid}`;
const groupOf = (task: string): string => task.slice(0, task.indexOf('/'));
