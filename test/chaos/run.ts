import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { packageRoot } from '../../shared/package-root.js';
import { systemClock } from '../../shared/time/clock.js';
import { readHistory, record } from '../checker/history.js';
import { recordElection, recordStored } from '../cluster/conclude.js';
import type { Admin } from '../cluster/admin.js';
import { eventually } from '../kit/eventually.js';
import { CommitOrder } from './commit-order.js';
import { FaultRunner } from './fault-runner.js';
import { hostMs } from './host-clock.js';
import { HostLoad } from './host-load.js';
import { planFaults } from './plan.js';
import { recordResent } from './record-resent.js';
import { makeReport, type Report } from './report.js';
import { graceMs, partitions, sessionMs, type StoreKind, Topology } from './topology.js';
import { Usage } from './usage.js';
import { WitnessTail } from './witness-tail.js';

export interface RunOptions {
  minutes: number;
  seed: number;
  store: StoreKind;
  /** Jobs a second. */
  rate: number;
  folder: string;
  say: (line: string) => void;
}

/** Promise 18. */
const recoverWithinMs = sessionMs + 2_000;
const pollMs = 100;
const lookMs = 5_000;
const restartAfterMs = 500;
const startWithinMs = 90_000;
/** From the end of the load until nothing waits, runs or is owed: retries and delayed jobs are over by then. */
const emptyWithinMs = 90_000;

/** One run: load, faults, quiet, checker. */
export class ChaosRun {
  readonly #options: RunOptions;
  readonly #topology: Topology;
  readonly #tail: WitnessTail;
  readonly #faults: FaultRunner;
  readonly #usage: Usage;
  readonly #load = new HostLoad();
  readonly #commits: CommitOrder | undefined;
  readonly #died: string[] = [];
  #over = false;

  private constructor(options: RunOptions, topology: Topology) {
    this.#options = options;
    this.#topology = topology;
    this.#tail = new WitnessTail(topology.history, topology.groups);
    this.#faults = new FaultRunner(topology, this.#tail, options.folder);
    this.#usage = new Usage(topology.programs.values());
    this.#commits = topology.postgres && new CommitOrder(topology.postgres.url);
  }

  /** Runs it and gives the report. Rejects when the run itself could not be carried out. */
  static async run(options: RunOptions): Promise<Report> {
    const topology = await Topology.start(options);
    const run = new ChaosRun(options, topology);
    topology.onDied = (name, how) => run.#revive(name, how);
    try {
      return await run.#run();
    } finally {
      run.#over = true;
      await topology.stop();
    }
  }

  /** As an init system would: what has ended by itself is started again. */
  #revive(name: string, how: string): void {
    if (this.#over) return;
    this.#died.push(`${name}: ${how}`);
    this.#faults.write({ event: 'died', name, how });
    void systemClock
      .sleep(restartAfterMs)
      .then(() => (this.#over ? undefined : this.#topology.program(name).start()))
      .catch((error: unknown) => this.#faults.write({ event: 'not restarted', name, error: String(error) }));
  }

  async #run(): Promise<Report> {
    const { minutes, seed, say } = this.#options;
    await this.#commits?.start();
    void this.#watch();
    void this.#readCommits();
    await this.#allWork(startWithinMs);
    say('all groups work; the faults begin');
    const plan = planFaults({ seed, durationMs: minutes * 60_000, sessionMs, targets: this.#topology.targets });
    await this.#faults.run(plan);
    await this.#recover();
    say(`the faults are over; quiet for ${sessionMs + graceMs} ms, then the load ends`);
    await systemClock.sleep(sessionMs + graceMs);
    for (const client of this.#topology.clients) client.signal('SIGUSR2');
    await this.#settle();
    this.#usage.conclude(this.#topology.history);
    await this.#commits?.read();
    this.#commits?.conclude(this.#topology.history);
    recordResent(join(this.#options.folder, 'logs'), this.#topology.history);
    this.#over = true;
    return makeReport({ options: this.#options, faults: this.#faults.happened, died: this.#died, notes: this.#topology.notes, peakMb: this.#usage.peakMb, ...(await this.#check()) });
  }

  /** Follows the witness and the processes until the run is over. */
  async #watch(): Promise<void> {
    let lookedAt = 0;
    for (; !this.#over; await systemClock.sleep(pollMs)) {
      this.#tail.poll();
      if (hostMs() - lookedAt < lookMs) continue;
      lookedAt = hostMs();
      this.#usage.look();
    }
  }

  /** Keeps the log that PostgreSQL keeps for us short. */
  async #readCommits(): Promise<void> {
    for (; !this.#over && this.#commits !== undefined; await systemClock.sleep(lookMs)) await this.#commits.read().catch(() => undefined);
  }

  /** Resolves with the time it took until every group had begun a run. */
  async #allWork(withinMs: number): Promise<number> {
    const from = hostMs();
    let at = 0;
    this.#tail.whenAllWork(from, (when) => (at = when));
    await eventually(() => at > 0, { withinMs, everyMs: pollMs, what: 'every group works' }).catch(() => this.#options.say(`no run began in ${this.#tail.idle.join(', ')}`));
    return (at > 0 ? at : hostMs()) - from;
  }

  async #recover(): Promise<void> {
    const working = (): boolean => [...this.#topology.programs.values()].every((program) => program.atWork);
    await eventually(working, { withinMs: 30_000 / this.#share, everyMs: pollMs, what: 'all processes work' });
    this.#load.restart();
    const afterMs = await this.#allWork(12 * recoverWithinMs);
    const limitMs = recoverWithinMs / this.#share;
    if (this.#share < 0.9) this.#topology.notes.push(`other work took ${Math.round((1 - this.#share) * 100)} % of this machine after the last fault; the limit of promise 18 is longer by that`);
    record(this.#topology.history, 'recovered', { kind: 'recovered', afterMs: Math.round(afterMs), limitMs: Math.round(limitMs) });
  }

  /** What other work has left to us of this machine since the last fault: time limits are longer by that. */
  get #share(): number {
    return Math.max(0.1, 1 - this.#load.foreign);
  }

  /** Waits until nothing is on its way, then records what store and registry say. */
  async #settle(): Promise<void> {
    const { history, zookeepers } = this.#topology;
    const { say } = this.#options;
    let left = '';
    const withinMs = emptyWithinMs / this.#share;
    const empty = async (): Promise<boolean> => {
      const queues = (await Promise.all((await this.#owners()).map((admin) => admin.queues()))).flat();
      const busy = queues.filter(({ waiting, ready, executing, feedback }) => waiting + ready + executing + feedback > 0);
      left = busy.map(({ node_group: name, waiting, ready, executing, feedback }) => `${name} ${waiting}+${ready}+${executing}+${feedback}`).join(', ');
      return busy.length === 0 && (await this.#unknown()) === 0;
    };
    await eventually(empty, { withinMs, everyMs: 1_000, what: 'the queues are empty' }).catch((error: unknown) => say(`the queues do not get empty (waiting + ready + executing + owed): ${left}; ${String(error)}`));
    const [admin] = await this.#owners();
    if (admin !== undefined) await recordStored(history, admin, ({ state, attempt }) => state !== 'INSTANCE_STATE_SUCCEEDED' || attempt !== 1);
    await recordElection(history, [...zookeepers.values()].map(({ connect }) => connect).join(','), this.#topology.trackers.filter((tracker) => tracker.alive).length);
  }

  /** Trackers that own something; only they answer. */
  async #owners(): Promise<Admin[]> {
    const admins = [...this.#topology.admins.values()];
    const owned = await Promise.all(admins.map(async (admin) => (await admin.cluster()).owned.length));
    if (owned.reduce((sum, count) => sum + count, 0) !== partitions) throw new Error(`the trackers own ${owned.join(' + ')} partitions`);
    return admins.filter((_, i) => (owned[i] ?? 0) > 0);
  }

  /** Jobs that were acked as stored on a JobClient's disk and have not come to the store yet. */
  async #unknown(): Promise<number> {
    const local = new Set(readHistory(this.#topology.history).flatMap((event) => (event.kind === 'acked' && event.local === true ? [event.id] : [])));
    for (const { instance_id: id } of (await (await this.#owners())[0]?.instances()) ?? []) local.delete(id);
    return local.size;
  }

  async #check(): Promise<{ violations: string[]; history: string }> {
    const { history } = this.#topology;
    const checker = join(packageRoot, 'dist/test/checker/main.js');
    const { stdout } = await promisify(execFile)(process.execPath, ['--max-old-space-size=8192', checker, history], { maxBuffer: 1024 ** 3 }).catch((error: { stdout: string; code: number }) => {
      if (error.code !== 1) throw error;
      return error;
    });
    return { violations: stdout.split('\n').filter((line) => line.startsWith('promise ')), history };
  }
}
