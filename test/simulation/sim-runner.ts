import { EndedBatchWriter } from '../../services/task-tracker/report/ended-batch.js';
import type { AbortReason, ToMain, ToStream } from '../../services/task-tracker/stream/messages.js';
import { readTasks } from '../../services/task-tracker/stream/task-batch.js';
import { decodeJob } from '../../shared/grpc/job-codec.js';
import type { TaskFacts } from '../../services/task-tracker/run/run.js';
import type { NodeClock } from './node-clock.js';
import type { RunPlan } from './jobs.js';
import type { Process, Scheduled } from './scheduler.js';
import type { World } from './world.js';

interface Run {
  facts: TaskFacts;
  plan: RunPlan;
  startedAt: number;
  end: Scheduled;
}

const later: RunPlan = { durationMs: 5, outcome: 'SUCCESS', retryInMs: 0, stubborn: false };

/** The thread of a worker that runs tasks: it takes virtual time, writes down what began and ended, and reports. */
export class SimRunner {
  readonly #world: World;
  readonly #process: Process;
  readonly #clock: NodeClock;
  /** Number of the worker process in the history. */
  readonly #number: number;
  readonly #send: (message: ToStream) => void;
  readonly #runs = new Map<number, Run>();
  readonly #hadUntil = new Map<number, number>();

  constructor(world: World, process: Process, clock: NodeClock, number: number, send: (message: ToStream) => void) {
    this.#world = world;
    this.#process = process;
    this.#clock = clock;
    this.#number = number;
    this.#send = send;
  }

  get running(): number {
    return this.#runs.size;
  }

  /** When it last had so many runs and one of them ended, in virtual milliseconds; long ago: never. */
  hadUntil(runs: number): number {
    return this.#hadUntil.get(runs) ?? Number.NEGATIVE_INFINITY;
  }

  take(message: ToMain): void {
    if (message.kind === 'tasks') readTasks(message.tasks, (facts, job) => this.#begin(facts, job));
    else if (message.kind === 'abort') this.#abort(message.handles, message.why);
    else if (message.kind === 'pulse') this.#send({ kind: 'alive' });
    else if (message.kind === 'fatal') this.#world.history.violate(0, `${this.#process.name} was told to end: ${message.message}`);
  }

  #begin(facts: TaskFacts, bytes: Buffer): void {
    const { handle, instanceId, attempt, fencingToken } = facts;
    const job = decodeJob(bytes);
    const schedule = this.#world.scheduleHistory.madeBy.get(instanceId);
    if (job.instance_id !== instanceId && job.instance_id !== schedule?.id) this.#world.history.violate(2, `${this.#process.name} got the job of ${job.instance_id} as ${instanceId}`);
    this.#world.history.began(instanceId, attempt, fencingToken, this.#number);
    const row = this.#world.db.tables.byId.get(instanceId);
    if (row !== undefined) this.#world.scheduleHistory.began(row, attempt, this.#process);
    const ofRun = attempt <= 2 ? schedule?.plans[(Math.trunc(facts.scheduledTime / 100) + attempt) % schedule.plans.length] : undefined;
    const plan = this.#world.jobs.get(instanceId)?.plans[attempt - 1] ?? ofRun ?? later;
    const startedAt = this.#clock.now();
    if (job.execution_timeout > 0) this.#send({ kind: 'begun', run: { handle, startedAt, limitMs: job.execution_timeout } });
    const end = this.#world.scheduler.after(plan.durationMs, `run ${instanceId}/${attempt} ends`, () => this.#end(handle, plan.outcome), this.#process);
    this.#runs.set(handle, { facts, plan, startedAt, end });
  }

  #abort(handles: readonly number[], why: AbortReason): void {
    for (const handle of handles) {
      const run = this.#runs.get(handle);
      if (run === undefined || run.plan.stubborn) continue;
      run.end.cancel();
      const outcome = why === 'cancelled' ? 'CANCELLED' : why === 'timeout' ? 'EXCEPTION' : 'INTERRUPTED';
      run.end = this.#world.scheduler.after(this.#world.scheduler.random.tail(20, 500), 'run stops', () => this.#end(handle, outcome), this.#process);
    }
  }

  #end(handle: number, outcome: RunPlan['outcome'] | 'CANCELLED' | 'INTERRUPTED'): void {
    const run = this.#runs.get(handle);
    if (run === undefined) return;
    this.#hadUntil.set(this.#runs.size, this.#world.scheduler.now);
    this.#runs.delete(handle);
    const { facts, plan, startedAt } = run;
    const endedAt = this.#clock.now();
    const row = this.#world.db.tables.byId.get(facts.instanceId);
    if (row !== undefined) this.#world.scheduleHistory.ended(row, facts.attempt);
    this.#world.history.ended(facts.instanceId, facts.attempt, outcome, this.#number);
    const ended = new EndedBatchWriter();
    ended.add({ handle, startedAt, endedAt, outcome: `ATTEMPT_OUTCOME_${outcome}`, message: outcome, truncated: false, retryAt: outcome === 'LATER' && plan.retryInMs > 1_000 ? endedAt + plan.retryInMs : 0 });
    const line = { handle, at: endedAt, level: 'LOG_LEVEL_INFO' as const, text: 'done', truncated: false };
    this.#send({ kind: 'report', ended: ended.finish(), lines: facts.attempt === 2 ? [line] : undefined, progress: undefined });
  }
}
