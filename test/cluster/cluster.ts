import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../../shared/package-root.js';
import { partitionOf } from '../../shared/partition.js';
import { Program } from '../chaos/program.js';
import { record } from '../checker/history.js';
import { eventually } from '../kit/eventually.js';
import { freePort } from '../kit/ports.js';
import { type Postgres, startPostgres } from '../kit/postgres.js';
import { ServiceProcess } from '../kit/service-process.js';
import { TcpProxy } from '../kit/tcp-proxy.js';
import { ZooKeeperServer } from '../kit/zookeeper.js';
import { Admin } from './admin.js';
import { Witness } from './witness.js';

/** What a cluster consists of. */
export interface ClusterOptions {
  /** How many trackers, named a, b, c; on SQLite a owns everything at first. Default 1. */
  trackers?: number;
  /** Where jobs are kept; on PostgreSQL the trackers share the partitions. Default sqlite. */
  store?: 'sqlite' | 'postgres';
  /** Default: that of the store. */
  partitions?: number;
  /** Default: only when there is more than one tracker. */
  zookeeper?: boolean;
  /** How long attempts of a lost worker are kept, in milliseconds. Default 15,000. */
  graceMs?: number;
  /** Folder of the store. Default: one in the folder of the cluster. */
  dataDir?: string;
  /** Every tracker reaches ZooKeeper through a proxy of its own: see Cluster.proxies. Default false. */
  proxies?: boolean;
  /** More arguments of each tracker. */
  trackerArgs?: readonly string[];
  /** More environment of each tracker, such as a wall clock of its own. */
  trackerEnv?: (name: string) => Record<string, string>;
}

/** Session time of the trackers in ZooKeeper, in milliseconds. */
export const sessionMs = 3_000;
/** The group that runs the jobs. */
export const group = 'work';

/** One tracker of the cluster: its address and data stay, its process may be started again. */
export class Tracker {
  readonly name: string;
  readonly address: string;
  readonly admin: Admin;
  readonly #args: readonly string[];
  readonly #env: Record<string, string>;
  #process: ServiceProcess | undefined;

  constructor(name: string, address: string, args: readonly string[], env: Record<string, string>) {
    this.name = name;
    this.address = address;
    this.admin = new Admin(address);
    this.#env = env;
    this.#args = ['job-tracker', '--node-id', name, '--listen', address, ...args];
  }

  get process(): ServiceProcess {
    if (this.#process === undefined) throw new Error(`tracker ${this.name} was not started`);
    return this.#process;
  }

  get alive(): boolean {
    return this.#process !== undefined && this.#process.ended === undefined;
  }

  /** Starts its process; resolves when it serves. */
  async start(withinMs = 30_000): Promise<void> {
    this.#process = new ServiceProcess(this.#args, this.#env);
    await this.#process.address(withinMs);
  }

  /** SIGKILL; resolves when the process is gone. */
  async kill(): Promise<void> {
    this.process.kill();
    await this.process.exited();
  }

  /** Epoch of what it owns; undefined when it owns nothing. Throws when it does not answer. */
  async epoch(): Promise<number | undefined> {
    return (await this.admin.cluster()).owned[0]?.epoch;
  }

  /** Waits until it owns the partitions and gives the epoch. */
  owns(withinMs = 15_000): Promise<number> {
    return eventually(() => this.epoch(), { withinMs, everyMs: 50, what: `${this.name} owns the partition` });
  }
}

/** Trackers on one store, workers, and the history of what happens: all real processes on this host. */
export class Cluster {
  readonly folder: string;
  /** Folder of the history. */
  readonly history: string;
  readonly witness: Witness;
  readonly zookeeper: ZooKeeperServer | undefined;
  readonly trackers: Tracker[] = [];
  /** Between a tracker and ZooKeeper, by the tracker's name. */
  readonly proxies = new Map<string, TcpProxy>();
  readonly workers: ServiceProcess[] = [];
  /** Processes with a worker for each of several groups. */
  readonly hosts: Program[] = [];
  readonly postgres: Postgres | undefined;
  readonly #options: ClusterOptions;

  private constructor(folder: string, options: ClusterOptions, zookeeper: ZooKeeperServer | undefined, postgres: Postgres | undefined) {
    this.folder = folder;
    this.#options = options;
    this.zookeeper = zookeeper;
    this.postgres = postgres;
    this.history = join(folder, 'history');
    mkdirSync(this.history);
    this.witness = new Witness(this.history);
  }

  /** Starts the trackers; resolves when the partitions are owned, by the first one or evenly, and all know each other. */
  static async start(options: ClusterOptions = {}): Promise<Cluster> {
    const { trackers = 1, zookeeper = trackers > 1, store = 'sqlite' } = options;
    const servers = [zookeeper ? ZooKeeperServer.start({ tickMs: 500 }) : undefined, store === 'postgres' ? startPostgres() : undefined] as const;
    const cluster = new Cluster(mkdtempSync(join(tmpdir(), 'lts-cluster-')), options, await servers[0], await servers[1]);
    try {
      for (const name of ['a', 'b', 'c'].slice(0, trackers)) {
        await cluster.join(name);
        if (name === 'a') await cluster.tracker(name).owns();
      }
      await cluster.allKnown();
      if (store === 'postgres') await cluster.evenly();
    } catch (error) {
      await cluster.stop();
      throw error;
    }
    return cluster;
  }

  /** Starts one more tracker. */
  async join(name: string): Promise<Tracker> {
    const { graceMs = 15_000, trackerArgs = [], partitions, proxies = false, trackerEnv } = this.#options;
    const args = ['--data-dir', this.#options.dataDir ?? join(this.folder, 'store'), '--grace', `${graceMs}ms`, '--ping-interval', '200ms', ...trackerArgs];
    if (partitions !== undefined) args.push('--partitions', `${partitions}`);
    if (this.postgres !== undefined) args.push('--store', 'postgres', '--postgres-url', this.postgres.url);
    const tracker = new Tracker(name, `127.0.0.1:${await freePort()}`, [...args, ...(await this.#registryArgs(name, proxies))], trackerEnv?.(name) ?? {});
    this.trackers.push(tracker);
    await tracker.start();
    return tracker;
  }

  async #registryArgs(name: string, proxied: boolean): Promise<string[]> {
    if (this.zookeeper === undefined) return [];
    if (proxied) this.proxies.set(name, await TcpProxy.start(this.zookeeper.port));
    return ['--zookeeper', this.proxies.get(name)?.connect ?? this.zookeeper.connect, '--session-timeout', `${sessionMs}ms`];
  }

  tracker(name: string): Tracker {
    const found = this.trackers.find((tracker) => tracker.name === name);
    if (found === undefined) throw new Error(`there is no tracker ${name}`);
    return found;
  }

  get addresses(): string[] {
    return this.trackers.map(({ address }) => address);
  }

  get liveTrackers(): Tracker[] {
    return this.trackers.filter((tracker) => tracker.alive);
  }

  /** Every live tracker's map names all live trackers. */
  async allKnown(): Promise<void> {
    const live = this.liveTrackers;
    const knows = async (tracker: Tracker): Promise<boolean> => (await tracker.admin.cluster()).map?.trackers.length === live.length;
    await eventually(async () => (await Promise.all(live.map(knows))).every(Boolean), { withinMs: 15_000, everyMs: 50, what: 'all trackers know each other' });
  }

  /** Waits until all partitions are owned and loaded by these trackers alone, in equal numbers. */
  async evenly(names = this.liveTrackers.map(({ name }) => name), withinMs = 15_000): Promise<void> {
    let seen = '';
    const look = async (): Promise<boolean> => {
      const all = await Promise.all(this.liveTrackers.map(async ({ name, admin }) => ({ name, ...(await admin.cluster()) })));
      seen = JSON.stringify(all.map(({ name, owned }) => [name, owned.length]));
      const counts = names.map((name) => all.find((tracker) => tracker.name === name)?.owned.length ?? 0);
      const total = all[0]?.map?.partitions ?? 0;
      return counts.reduce((sum, count) => sum + count, 0) === total && Math.max(...counts) - Math.min(...counts) <= 1 && all.every(({ name, owned }) => names.includes(name) || owned.length === 0);
    };
    await eventually(look, { withinMs, everyMs: 50 }).catch((error: unknown) => {
      throw new Error(`the partitions are not with ${names.join(', ')}: ${seen}`, { cause: error });
    });
  }

  /** The tracker that owns the partition of a group, by its own word. */
  async ownerOf(nodeGroup: string): Promise<Tracker> {
    for (const tracker of this.liveTrackers) {
      const { owned, map } = await tracker.admin.cluster();
      if (owned.some(({ partition }) => partition === partitionOf(nodeGroup, map?.partitions ?? 1))) return tracker;
    }
    throw new Error(`nobody owns the partition of ${nodeGroup}`);
  }

  /** Starts a process with a worker for each group; resolves when all of them are connected. */
  async startHost(name: string, groups: readonly string[], workThreads = 4): Promise<Program> {
    const args = { name, groups: groups.join(','), trackers: this.addresses.join(','), data: join(this.folder, 'workers', name), history: this.history, slots: `${workThreads}` };
    const program = new Program({
      name,
      command: ['test/chaos/worker.js', ...Object.entries(args).flatMap(([key, value]) => [`--${key}`, value])],
      folder: this.folder,
      readyWhen: /connected/,
      onDied: () => undefined,
    });
    this.hosts.push(program);
    await program.start();
    return program;
  }

  /** The tracker that owns the group that runs the jobs, once there is one; on SQLite it owns everything. */
  owner(withinMs = 15_000): Promise<Tracker> {
    return eventually(() => this.ownerOf(group), { withinMs, everyMs: 50, what: `a tracker owns ${group}` });
  }

  /** Starts a worker; resolves when it has begun to work. The same name is the same node with the same FailStore. */
  async startWorker(name: string, { workThreads = 4, env = {}, withinMs = 15_000 }: { workThreads?: number; env?: Record<string, string>; withinMs?: number } = {}): Promise<ServiceProcess> {
    const runners = join(packageRoot, 'dist/test/cluster/witness-runners.js');
    const process = new ServiceProcess([
      ...['task-tracker', '--group', group, '--runners', runners, '--node-id', name, '--data-dir', join(this.folder, 'workers')],
      ...['--work-threads', `${workThreads}`, '--trackers', this.addresses.join(','), '--grace', '5s'],
    ], env);
    this.workers.push(process);
    record(this.history, 'workers', { kind: 'worker', pid: process.pid, workThreads });
    await process.says('works as', withinMs);
    return process;
  }

  /** Waits until the owner sees so many workers connected. */
  async workersConnected(count: number): Promise<void> {
    const owner = await this.owner();
    const online = async (): Promise<boolean> => (await owner.admin.nodes()).filter((node) => node.kind === 'NODE_KIND_TASK_TRACKER' && node.state !== 'NODE_STATE_LOST').length === count;
    await eventually(online, { everyMs: 50, what: `${count} workers are connected` });
  }

  /** A file on which `hold` runs wait: its path, and how to let them go. */
  gate(name = 'gate'): { path: string; open(): void } {
    const path = join(this.folder, name);
    return { path, open: () => writeFileSync(path, '') };
  }

  /** Ends everything and removes the files. */
  async stop(): Promise<void> {
    const processes = [...this.workers, ...this.trackers.filter((tracker) => tracker.alive).map((tracker) => tracker.process)];
    for (const process of processes) process.kill();
    for (const process of processes) await process.exited();
    for (const program of this.hosts) await program.kill();
    for (const tracker of this.trackers) tracker.admin.close();
    for (const proxy of this.proxies.values()) await proxy.stop();
    await this.zookeeper?.stop();
    await this.postgres?.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
