import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { encodeJob } from '../../shared/grpc/job-codec.js';
import { StreamWriter } from '../../shared/grpc/stream-writer.js';
import { newId } from '../../shared/ids.js';
import { checkJob } from '../../shared/job/check-job.js';
import { type Logger, silentLogger } from '../../shared/log/logger.js';
import { LocalRegistry } from '../../shared/registry/registries/local.js';
import { systemClock } from '../../shared/time/clock.js';
import { eventually } from '../kit/eventually.js';
import { VirtualClock } from '../kit/virtual-clock.js';
import type { Worker } from '../../services/job-tracker/dispatch/worker.js';
import { type RawWorkResponse, WorkerSession } from '../../services/job-tracker/dispatch/worker-session.js';
import type { QueueStore } from '../../services/job-tracker/queue/queue-store.js';
import { createSqliteStore } from '../../services/job-tracker/queue/stores/sqlite/sqlite-store.js';
import { TrackerCore } from '../../services/job-tracker/tracker-core.js';

/** What a worker has: attempt by instance id. */
type Has = Map<string, number>;

/** A worker that takes tasks and forgets or ends what it is told to. */
export class FakeWorker {
  readonly has: Has = new Map();
  /** Ids of all tasks that came, repeats too. */
  readonly got: string[] = [];
  readonly session: WorkerSession;
  readonly worker: Worker;
  readonly incarnation = newId();
  readonly #core: TrackerCore;
  readonly #clock: VirtualClock;
  #sequence = 0;

  constructor(core: TrackerCore, clock: VirtualClock, group: string, slots: number) {
    this.#core = core;
    this.#clock = clock;
    const stream = { write: (frame: RawWorkResponse) => (setImmediate(() => this.#take(frame)), true), once: () => undefined };
    const writer = new StreamWriter<RawWorkResponse>(stream, { onStall: () => undefined, clock });
    this.session = new WorkerSession({ writer, end: () => undefined, room: () => undefined, read: () => undefined }, clock.monotonic());
    const hello = { node_id: `w-${this.incarnation}`, incarnation: this.incarnation, node_group: group, types: [], work_threads: slots, host: '', pid: 0, version: '', predecessors: [], master_token: 0, monotonic: 0 };
    this.worker = core.directory.open(hello, 'peer', this.session);
    core.directory.slots(this.worker, slots);
  }

  /** Ends these attempts, and grants their slots anew. */
  finish(ids: readonly string[], outcome: 'SUCCESS' | 'FAILED' | 'LATER' | 'EXCEPTION' | 'INTERRUPTED' | 'CANCELLED' = 'SUCCESS'): void {
    const results = ids.map((id) => ({ instance_id: id, attempt: this.has.get(id) ?? 0, incarnation: this.incarnation, outcome: `ATTEMPT_OUTCOME_${outcome}` as const, message: '', truncated: false, retry_at: 0, started_at: 1, ended_at: 2 }));
    for (const id of ids) this.has.delete(id);
    this.#core.results.take(this.worker, this.session, { sequence: ++this.#sequence, results, predecessors: [], ended: [] });
    this.#core.directory.slots(this.worker, this.session.granted + ids.length);
  }

  #take(frame: RawWorkResponse): void {
    this.session.heardAt = this.#clock.monotonic();
    for (const { instance_id: id = '', attempt = 0 } of frame.tasks?.tasks ?? []) {
      this.got.push(id);
      this.has.set(id, attempt);
    }
    if (frame.owns === undefined || frame.owns === null) return;
    const held = [...this.has].map(([instance_id, attempt]) => ({ instance_id, attempt, finished: false }));
    this.#core.directory.inventory(this.worker, held, true, Number(frame.owns.question));
  }
}

/** A whole tracker on a real SQLite store, with a clock that is played, and a second connection that makes damage. */
export class RepairBench {
  readonly folder = mkdtempSync(join(tmpdir(), 'lts-repair-'));
  readonly clock = new VirtualClock(systemClock.now());
  readonly store: QueueStore;
  readonly core: TrackerCore;
  /** Writes behind the tracker's back. */
  readonly damage: Database.Database;
  readonly lines: [string, Record<string, unknown>][] = [];

  private constructor() {
    const file = join(this.folder, 'queue.db');
    this.store = createSqliteStore({ file, cluster: 'c', partitions: 1 });
    const note = (event: string, fields: object = {}): void => void this.lines.push([event, fields as Record<string, unknown>]);
    const log: Logger = { ...silentLogger, warn: note, error: note };
    const config = { cluster: 'c', partitions: 1, grace: 15_000, pingInterval: 1_000, backlogLimit: 100_000, readyInMemory: 10_000, retention: 86_400_000, diskReserve: 0, sessionTimeout: 3_000 };
    this.core = new TrackerCore({ config, store: this.store, registry: new LocalRegistry(undefined, silentLogger), spread: false, alone: false, incarnation: newId(), clock: this.clock, newId, log, onFailed: () => undefined });
    this.damage = new Database(file, { timeout: 2_000 });
  }

  static async start(): Promise<RepairBench> {
    const bench = new RepairBench();
    await bench.core.ownership.open();
    bench.core.start({ kind: 'job-tracker', nodeId: 't', incarnation: newId(), nodeGroup: '', address: '127.0.0.1:1', version: '', startedAt: 0 });
    await bench.until(() => bench.core.ownership.serving, 'it owns the partition');
    return bench;
  }

  worker(slots = 4, group = 'g'): FakeWorker {
    return new FakeWorker(this.core, this.clock, group, slots);
  }

  /** Takes in a job of a task of its own; gives its id. */
  async submit(fields: object = {}): Promise<string> {
    const id = newId(this.clock.now());
    const [result] = await this.core.admission.submit([encodeJob(checkJob({ task_id: id, node_group: 'g', instance_id: id, ...fields }))], false);
    if (result?.outcome !== 'SUBMIT_OUTCOME_ACCEPTED') throw new Error(JSON.stringify(result));
    return id;
  }

  /** Lets time pass, a tick after the other, until the condition is true; the store answers in real time. */
  until(condition: () => boolean, what: string, mostTicks = 120): Promise<unknown> {
    let ticks = 0;
    return eventually(async () => {
      if (condition()) return true;
      if (ticks++ > mostTicks) return false;
      await this.clock.advance(1_000);
      return condition();
    }, { what, everyMs: 3, withinMs: 20_000 });
  }

  /** Lets so many ticks pass, each with time for the store's answers. */
  async ticks(count: number): Promise<void> {
    for (let tick = 0; tick < count; tick++) {
      await this.clock.advance(1_000);
      await this.store.nextDue(0);
      await this.store.health();
    }
  }

  async repairs(): Promise<Record<string, number>> {
    const { repairs = [] } = await this.core.clusterStatus();
    return Object.fromEntries(repairs.map(({ kind, count }) => [kind, Number(count)]));
  }

  seqOf(id: string): number {
    return this.damage.prepare<[Buffer], number>('SELECT seq FROM instance WHERE id = ?').pluck().get(Buffer.from(id.replaceAll('-', ''), 'hex')) ?? -1;
  }

  async stop(): Promise<void> {
    await this.core.leave();
    this.damage.close();
    await this.store.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
