import type { DrainedNode } from '../../services/job-tracker/lead/drained-nodes.js';
import { idMaker } from '../../shared/ids.js';
import type { Logger } from '../../shared/log/logger.js';
import { LocalRegistryHub } from '../../shared/registry/registries/local-hub.js';
import { History } from './history.js';
import type { SimJob } from './jobs.js';
import { Network } from './network/network.js';
import { WallClock } from './node-clock.js';
import { Random } from './random.js';
import { type Process, Scheduler } from './scheduler.js';
import { ScheduleHistory } from './schedule-history.js';
import type { SimSchedule } from './schedules.js';
import type { Settings } from './settings.js';
import { SimClient } from './sim-client.js';
import { simLogger } from './sim-logger.js';
import { type GroupMember, type ReceiverPlace, SimReceiver } from './sim-receiver.js';
import { SimTracker } from './sim-tracker.js';
import { SimWorker, WorkerDisk, type WorkerPlace } from './sim-worker.js';
import { MemoryDatabase } from './store/memory-database.js';

/** A tracker over its restarts. */
export interface TrackerSite {
  nodeId: string;
  address: string;
  wall: WallClock;
  running: SimTracker | undefined;
}

/** A worker over its restarts. */
export interface WorkerSite {
  place: WorkerPlace;
  running: SimWorker | undefined;
}

const trackerCount = 3;
const clientCount = 2;
/** How many more take results in each of their groups. */
const receiversPerGroup = 2;

/** Who only takes results, over its restarts. */
export interface ReceiverSite {
  place: ReceiverPlace;
  running: SimReceiver | undefined;
}

/** The whole simulated system: what outlives processes, and the processes that run now. */
export class World {
  readonly settings: Settings;
  readonly random: Random;
  readonly scheduler: Scheduler;
  readonly network: Network;
  readonly hub = new LocalRegistryHub();
  readonly db: MemoryDatabase;
  readonly history: History;
  /** Process starts of workers, by incarnation. */
  readonly incarnations = new Map<string, Process>();
  readonly newId: () => string;
  /** All that were ever submitted. */
  readonly jobs = new Map<string, SimJob>();
  readonly schedules = new Map<string, SimSchedule>();
  readonly scheduleHistory: ScheduleHistory;
  /** The clock of the database's host, when it has one of its own. */
  readonly storeWall: WallClock;
  readonly groups: string[];
  readonly trackers: TrackerSite[];
  readonly workers: WorkerSite[];
  readonly clients: SimClient[];
  readonly receivers: ReceiverSite[];
  /** All that take results now. */
  readonly members = new Set<GroupMember>();
  readonly #write: ((line: string) => void) | undefined;
  #number = 0;
  #committer = '';

  constructor(settings: Settings, write?: (line: string) => void) {
    this.settings = settings;
    this.#write = write;
    this.random = new Random(settings.seed + 1_000_003);
    this.history = new History(settings.graceMs, (incarnation) => this.incarnations.get(incarnation)?.alive ?? false);
    this.scheduler = new Scheduler(this.random.fork());
    this.scheduler.onEvent = write;
    this.scheduler.onThrown = (error, what) => this.history.violate(0, `${what} threw ${error instanceof Error ? error.stack : String(error)}`);
    this.network = new Network(this.scheduler);
    const id = idMaker(this.random.fork().fill);
    this.newId = () => id(1_800_000_000_000);
    this.db = new MemoryDatabase('sim', settings.partitions, '00000000-0000-4000-8000-000000000000');
    // So that even a schedule with few runs ends in several transitions.
    this.db.mostRuns = 1;
    this.db.onCommit = (batch, outcomes) => this.history.committed(this.#committer, batch, outcomes, this.db.tables, this.scheduler.now);
    this.scheduleHistory = new ScheduleHistory(this.schedules, settings.stepMs <= 5_000, (promise, message) => this.history.violate(promise, message));
    this.scheduleHistory.record = (id, attempt) => this.db.tables.byId.get(id)?.records.find((record) => record.attempt === attempt)?.outcome ?? 'which the store has running';
    this.db.onApplied = (t, outcome) => {
      this.scheduleHistory.applied(t, outcome, this.db.tables);
      for (const { id } of t.kind === 'fire' && outcome.kind === 'fire' && outcome.applied ? t.runs : []) this.history.owed(id, this.scheduleHistory.madeBy.get(id));
    };
    this.storeWall = this.#wall();
    this.db.onTake = (partition) => this.history.taken(partition, this.scheduler.now);
    this.groups = Array.from({ length: settings.groups }, (_, i) => `group-${i + 1}`);
    this.trackers = Array.from({ length: trackerCount }, (_, i) => ({ nodeId: `tracker-${i + 1}`, address: `10.0.0.${i + 1}:7401`, wall: this.#wall(), running: undefined }));
    this.workers = this.groups.flatMap((nodeGroup, g) => Array.from({ length: settings.workersPerGroup }, (_, i) => ({ place: this.#place(nodeGroup, g, i), running: undefined })));
    this.hub.onChange(() => this.#checkDrains());
    for (const site of this.trackers) this.startTracker(site);
    for (const site of this.workers) this.startWorker(site);
    this.clients = Array.from({ length: clientCount }, (_, i) => new SimClient(this, `client-${i + 1}`, `clients-${i % 2}`, this.#wall()));
    this.receivers = this.clients.flatMap((_, group) => Array.from({ length: receiversPerGroup }, (__, i) => ({ place: { nodeId: `receiver-${group}-${i + 1}`, nodeGroup: `clients-${group}`, wall: this.#wall() }, running: undefined })));
    for (const site of this.receivers) this.startReceiver(site);
  }

  get addresses(): string[] {
    return this.trackers.map(({ address }) => address);
  }

  get runningTrackers(): SimTracker[] {
    return this.trackers.flatMap(({ running }) => running ?? []);
  }

  get runningWorkers(): SimWorker[] {
    return this.workers.flatMap(({ running }) => running ?? []);
  }

  /** All wall clocks. */
  get walls(): WallClock[] {
    return [this.storeWall, ...this.trackers.map(({ wall }) => wall), ...this.workers.map(({ place }) => place.wall)];
  }

  startTracker(site: TrackerSite): SimTracker {
    return (site.running = new SimTracker(this, site.nodeId, site.address, site.wall));
  }

  startWorker(site: WorkerSite): void {
    site.running = new SimWorker(this, site.place);
  }

  startReceiver(site: ReceiverSite): void {
    site.running = new SimReceiver(this, site.place);
  }

  /** Names of the hosts that have a stream or calls to trackers. */
  get callers(): string[] {
    return [...this.workers.map(({ place }) => place.nodeId), ...this.clients.map(({ process }) => process.host), ...this.receivers.map(({ place }) => place.nodeId)];
  }

  /** Names of the trackers that are drained by hand, by the registry. */
  drainedTrackers(): string[] {
    const nodes = JSON.parse(Buffer.from(this.hub.document('drained')?.data ?? Buffer.from('[]')).toString()) as DrainedNode[];
    const byHand = new Set(nodes.filter(({ incarnation }) => incarnation === '').map(({ nodeId }) => nodeId));
    return this.trackers.map(({ nodeId }) => nodeId).filter((nodeId) => byHand.has(nodeId));
  }

  /** Of drains that come together one is refused, so that somebody takes the partitions. */
  #checkDrains(): void {
    if (this.drainedTrackers().length === trackerCount) this.history.violate(0, 'all trackers are drained');
  }

  /** At most one of a group takes itself for the master. */
  checkMasters(nodeGroup: string): void {
    const masters = this.#membersOf(nodeGroup).filter(({ masterToken }) => masterToken > 0);
    if (masters.length > 1) this.history.violate(0, `${masters.map(({ process, masterToken }) => `${process.name} under ${masterToken}`).join(' and ')} are masters of ${nodeGroup}`);
  }

  /** Groups that have members, of which none takes itself for the master. */
  get masterless(): string[] {
    const names = new Set([...this.groups, ...[...this.members].map(({ nodeGroup }) => nodeGroup)]);
    return [...names].filter((name) => {
      const members = this.#membersOf(name);
      return members.length > 0 && members.every(({ masterToken }) => masterToken === 0);
    });
  }

  /** The living workers of a group, or those that take results for one. */
  #membersOf(nodeGroup: string): { process: Process; masterToken: number }[] {
    const workers = this.runningWorkers.filter(({ place, process }) => place.nodeGroup === nodeGroup && process.alive);
    return [...workers.map(({ process, node }) => ({ process, masterToken: node.masterToken })), ...[...this.members].filter((member) => member.nodeGroup === nodeGroup)];
  }

  /** Numbers processes. */
  nextNumber(): number {
    return ++this.#number;
  }

  logger(process: Process): Logger {
    return simLogger(
      (line) => this.trace(`${process.name} ${line}`),
      (line) => this.history.violate(0, `${process.name} ${line}`),
    );
  }

  trace(text: string): void {
    this.scheduler.trace.add(text);
    this.#write?.(`${this.scheduler.now.toFixed(3)} ${text}`);
  }

  /** Runs a statement of the database in the name of a process. */
  asCommitter(name: string, statement: () => unknown): unknown {
    this.#committer = name;
    return statement();
  }

  #place(nodeGroup: string, group: number, i: number): WorkerPlace {
    const types = i > 0 && this.random.chance(0.3) ? [this.random.pick(['default', 'mail'])] : [];
    return { nodeId: `worker-${group + 1}-${i + 1}`, nodeGroup, types, workThreads: this.random.int(1, 4), disk: new WorkerDisk(), wall: this.#wall() };
  }

  #wall(): WallClock {
    return new WallClock(this.scheduler, 1 + this.random.between(-0.001, 0.001), this.random.between(-500, 500));
  }
}
