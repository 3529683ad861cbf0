import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Admin } from '../cluster/admin.js';
import { lastingPort } from '../kit/ports.js';
import { type Postgres, startPostgres } from '../kit/postgres.js';
import { SmallDisk } from '../kit/small-disk.js';
import { ZooKeeperServer } from '../kit/zookeeper.js';
import { clocksCanBeSet } from '../kit/wall-clock.js';
import { wallOffsetMs } from './host-clock.js';
import { Link } from './link.js';
import type { Targets } from './plan.js';
import { Program } from './program.js';

/** Session time of the trackers in ZooKeeper: six ticks of 500 ms. */
export const sessionMs = 3_000;
/** How long attempts of a lost worker are kept. */
export const graceMs = 5_000;
export const partitions = 64;
const trackerNames = ['a', 'b', 'c'] as const;
const workerNames = ['w1', 'w2', 'w3'] as const;
const groups = Array.from({ length: 30 }, (_, i) => `group-${i + 1}`);
const slotsPerGroup = 4;
/** A worker has a FailStore for each of its groups on it. */
const diskMib = 128;
/** One page of the whole store, on a machine that is busy. */
const statusWithinMs = 30_000;

export type StoreKind = 'sqlite' | 'postgres';

export interface TopologyOptions {
  store: StoreKind;
  seed: number;
  /** Jobs a second of all clients. */
  rate: number;
  /** Empty folder for everything that is written. */
  folder: string;
}

/** One link, or the part of one that belongs to one caller. */
interface LinkPart {
  links: readonly Link[];
  caller?: Program;
}

/**
 * All processes of a run and the links between them. Each tracker has links of its own to every ZooKeeper and to
 * PostgreSQL; it advertises a link, on which its callers are told apart by their process.
 */
export class Topology {
  readonly groups = groups;
  readonly history: string;
  readonly programs = new Map<string, Program>();
  readonly zookeepers = new Map<string, ZooKeeperServer>();
  readonly links = new Map<string, LinkPart>();
  readonly disks = new Map<string, SmallDisk>();
  /** Status of each tracker, past the links. */
  readonly admins = new Map<string, Admin>();
  /** What could not be made here, for the report. */
  readonly notes: string[] = [];
  postgres: Postgres | undefined;
  /** Is told when a program ended by itself. */
  onDied: (name: string, how: string) => void = () => undefined;
  readonly #options: TopologyOptions;
  readonly #all: Link[] = [];

  private constructor(options: TopologyOptions) {
    this.#options = options;
    // A run that is interrupted leaves no disk mounted.
    process.once('exit', () => this.#closeDisks());
    this.history = join(options.folder, 'history');
    for (const folder of ['history', 'logs', 'data', 'store']) mkdirSync(join(options.folder, folder), { recursive: true });
  }

  /** Starts everything; resolves when all programs are at work. */
  static async start(options: TopologyOptions): Promise<Topology> {
    const topology = new Topology(options);
    try {
      await topology.#start();
      return topology;
    } catch (error) {
      await topology.stop();
      throw error;
    }
  }

  get targets(): Targets {
    const named = (prefix: RegExp): string[] => [...this.programs.keys()].filter((name) => prefix.test(name));
    return {
      trackers: [...trackerNames],
      workers: [...workerNames],
      clients: named(/^(c\d|gateway)$/),
      zookeepers: [...this.zookeepers.keys()],
      ...(this.postgres === undefined ? {} : { postgres: 'postgres' }),
      links: [...this.links.keys()],
      clocks: clocksCanBeSet ? [...this.programs.keys()] : [],
      disks: [...this.disks.keys()],
    };
  }

  get trackers(): Program[] {
    return trackerNames.map((name) => this.program(name));
  }

  get clients(): Program[] {
    return ['c1', 'c2'].map((name) => this.program(name));
  }

  program(name: string): Program {
    const found = this.programs.get(name);
    if (found === undefined) throw new Error(`there is no process ${name}`);
    return found;
  }

  /** Ends everything; the folder stays. */
  async stop(): Promise<void> {
    await Promise.all([...this.programs.values()].map((program) => program.kill()));
    for (const admin of this.admins.values()) admin.close();
    await Promise.all(this.#all.map((link) => link.stop()));
    await Promise.all([...this.zookeepers.values()].map((server) => server.stop()));
    await this.postgres?.stop();
    this.#closeDisks();
  }

  #closeDisks(): void {
    for (const disk of this.disks.values()) disk.close();
  }

  async #start(): Promise<void> {
    for (const [i, server] of (await ZooKeeperServer.startEnsemble(3, { tickMs: 500 })).entries()) this.zookeepers.set(`zk${i + 1}`, server);
    if (this.#options.store === 'postgres') this.postgres = await startPostgres({ settings: { wal_level: 'logical' } });
    if (!clocksCanBeSet) this.notes.push('no wall clock is set wrong: the package faketime is not installed');
    const trackers: string[] = [];
    for (const name of trackerNames) trackers.push(await this.#tracker(name));
    await Promise.all(this.trackers.map((tracker) => tracker.start()));
    await this.#workersAndClients(trackers);
  }

  /** Prepares a tracker; gives the address that it advertises. */
  async #tracker(name: string): Promise<string> {
    const listen = await lastingPort();
    const front = await this.#link(listen);
    this.links.set(`*→${name}`, { links: [front] });
    const zookeepers = await Promise.all([...this.zookeepers.values()].map(({ port }) => this.#link(port)));
    this.links.set(`${name}→zookeeper`, { links: zookeepers });
    this.#program(name, 'services/cli/main.js', [
      ...['job-tracker', '--node-id', name, '--listen', `127.0.0.1:${listen}`, '--advertise', front.connect, '--partitions', `${partitions}`],
      ...['--zookeeper', zookeepers.map(({ connect }) => connect).join(','), '--session-timeout', `${sessionMs}ms`],
      ...['--grace', `${graceMs}ms`, '--ping-interval', '1s', ...(await this.#store(name))],
    ], / serves on /);
    this.admins.set(name, new Admin(`127.0.0.1:${listen}`, statusWithinMs));
    return front.connect;
  }

  async #store(tracker: string): Promise<string[]> {
    if (this.postgres === undefined) return ['--data-dir', join(this.#options.folder, 'store')];
    const link = await this.#link(this.postgres.port);
    this.links.set(`${tracker}→postgres`, { links: [link] });
    const url = new URL(this.postgres.url);
    url.port = `${link.port}`;
    return ['--store', 'postgres', '--postgres-url', url.href, '--data-dir', join(this.#options.folder, 'data')];
  }

  async #workersAndClients(trackers: readonly string[]): Promise<void> {
    const { seed, rate } = this.#options;
    const gateway = await lastingPort();
    const front = await this.#link(gateway);
    this.links.set('c2→gateway', { links: [front] });
    for (const [i, name] of workerNames.entries()) {
      // Each group has two of the three workers.
      const own = groups.filter((_, group) => group % 3 !== i).join(',');
      this.#program(name, 'test/chaos/worker.js', ['--name', name, '--groups', own, '--trackers', trackers.join(','), '--data', this.#disk(name), '--history', this.history, '--slots', `${slotsPerGroup}`]);
    }
    this.#program('gateway', 'services/cli/main.js', [
      ...['job-client', '--node-id', 'gateway', '--listen', `127.0.0.1:${gateway}`, '--trackers', trackers.join(',')],
      ...['--data-dir', this.#disk('gateway'), '--fail-store-size', '4MiB'],
    ], / serves on /);
    const status = [...this.admins.values()].map(({ address }) => address).join(',');
    const client = ['--groups', groups.join(','), '--history', this.history, '--rate', `${rate / 2}`, '--seed', `${seed}`, '--wall', `${wallOffsetMs()}`, '--status', status];
    this.#program('c1', 'test/chaos/client.js', ['--name', 'c1', '--trackers', trackers.join(','), '--data', this.#disk('c1'), ...client]);
    this.#program('c2', 'test/chaos/client.js', ['--name', 'c2', '--gateway', front.connect, ...client]);
    for (const caller of [...workerNames, 'c1', 'gateway']) {
      for (const tracker of trackerNames) this.links.set(`${caller}→${tracker}`, { links: this.links.get(`*→${tracker}`)?.links ?? [], caller: this.program(caller) });
    }
    await Promise.all([...workerNames, 'gateway'].map((name) => this.program(name).start()));
    await Promise.all(this.clients.map((program) => program.start()));
  }

  #program(name: string, script: string, args: string[], readyWhen = /at work/): void {
    const onDied = (how: string): void => this.onDied(name, how);
    this.programs.set(name, new Program({ name, command: [script, ...args], folder: join(this.#options.folder, 'logs'), readyWhen, onDied }));
  }

  /** A folder on a small disk of its own, where that can be made. */
  #disk(name: string): string {
    try {
      const disk = new SmallDisk(diskMib);
      this.disks.set(name, disk);
      return disk.folder;
    } catch (error) {
      this.notes.push(`the disk of ${name} is not filled: ${error instanceof Error ? error.message : String(error)}`);
      return join(this.#options.folder, 'data', name);
    }
  }

  async #link(port: number): Promise<Link> {
    const link = await Link.start(port);
    this.#all.push(link);
    return link;
  }
}
