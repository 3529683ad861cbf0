import { checkHistory, type Violation } from '../checker/check-history.js';
import { epochOf, type Event } from '../checker/history.js';
import type { AttemptOutcome } from '../../services/job-tracker/queue/instance-state.js';
import type { CommitBatch, Finish, Outcome } from '../../services/job-tracker/queue/queue-store.js';
import { LimitChecks } from './limit-checks.js';
import type { Tables } from './store/rows.js';

/** Most violations of one run that are kept. */
const most = 20;

/** What has happened in a run, and what of it breaks a promise. Promises have the numbers of the README. */
export class History {
  readonly violations: Violation[] = [];
  /** Told of each violation at once. */
  onViolation: (violation: Violation) => void = () => undefined;
  readonly #events: Event[] = [];
  /** The first answer to each id. */
  readonly #answers = new Map<string, string>();
  /** When the cancel of an instance was acked. */
  readonly #cancelAckedAt = new Map<string, number>();
  /** By instance and attempt: when its task was sent last. */
  readonly #sentAt = new Map<string, number>();
  /** By instance and attempt: how its run ended. */
  readonly #outcomes = new Map<string, string>();
  /** By partition: the highest epoch of a commit, and who made it. */
  readonly #commits = new Map<number, { epoch: number; by: string }>();
  readonly #acked = new Set<string>();
  /** When the last start of each group was committed. */
  readonly startedAt = new Map<string, number>();

  /** By group and token: the process start that was master. */
  readonly #masters = new Map<string, string>();
  readonly limits = new LimitChecks((message) => this.violate(0, message));

  readonly #graceMs: number;
  /** Whether the process start of a worker lives. */
  readonly #isAlive: (incarnation: string) => boolean;
  /** When each partition was taken last. */
  readonly #takenAt = new Map<number, number>();

  constructor(graceMs: number, isAlive: (incarnation: string) => boolean) {
    this.#graceMs = graceMs;
    this.#isAlive = isAlive;
  }

  taken(partition: number, now: number): void {
    this.#takenAt.set(partition, now);
  }

  violate(promise: number, message: string): void {
    if (this.violations.length >= most) return;
    this.violations.push({ promise, message });
    this.onViolation({ promise, message });
  }

  get acked(): ReadonlySet<string> {
    return this.#acked;
  }

  record(event: Event): void {
    this.#events.push(event);
  }

  /** A submit was answered: 2, the same id always gets the same answer. A schedule is no job that ends. */
  answered(id: string, outcome: string, job: { atMostOnce: boolean; needFeedback: boolean } | undefined): void {
    const first = this.#answers.get(id);
    if (first !== undefined && first !== outcome) this.violate(2, `${id} was answered ${first} and then ${outcome}`);
    this.#answers.set(id, outcome);
    if (job === undefined || first !== undefined || (outcome !== 'SUBMIT_OUTCOME_ACCEPTED' && outcome !== 'SUBMIT_OUTCOME_REPLACED')) return;
    this.#acked.add(id);
    this.record({ kind: 'acked', id, atMostOnce: job.atMostOnce, needFeedback: job.needFeedback });
  }

  /** A run of a schedule is in the store: it is promised like a job that was acked. */
  owed(id: string, schedule: { atMostOnce: boolean; needFeedback: boolean } | undefined): void {
    if (schedule !== undefined) this.record({ kind: 'acked', id, atMostOnce: schedule.atMostOnce, needFeedback: schedule.needFeedback });
  }

  cancelAcked(ids: readonly string[], now: number): void {
    for (const id of ids) if (!this.#cancelAckedAt.has(id)) this.#cancelAckedAt.set(id, now);
  }

  /** An owner of this epoch has written a task to a stream. An attempt that an earlier owner had recorded is sent again. */
  taskSent({ id, attempt, fence }: { id: string; attempt: number; fence: number }, epoch: number, now: number): void {
    this.#sentAt.set(`${id}/${attempt}`, now);
    if (epoch > epochOf(fence)) this.record({ kind: 'resent', id, attempt });
  }

  /** A run has begun: 10, not of a task that was sent after the cancel was acked. */
  began(id: string, attempt: number, fence: number, worker: number): void {
    this.record({ kind: 'start', id, attempt, fence, pid: worker });
    const ackedAt = this.#cancelAckedAt.get(id) ?? Number.POSITIVE_INFINITY;
    if ((this.#sentAt.get(`${id}/${attempt}`) ?? 0) > ackedAt) this.violate(10, `attempt ${attempt} of ${id} was sent after its cancel was acked, and ran`);
  }

  /** A run has ended so. */
  ended(id: string, attempt: number, outcome: string, worker: number): void {
    this.record({ kind: 'end', id, attempt, pid: worker });
    this.#outcomes.set(`${id}/${attempt}`, outcome);
  }

  /** A node takes itself for the master of its group: a token is one choice of one node. */
  master(nodeGroup: string, token: number, incarnation: string): void {
    const name = `${nodeGroup}/${token}`;
    const first = this.#masters.get(name);
    if (first !== undefined && first !== incarnation) this.violate(0, `${first} and ${incarnation} were masters of ${nodeGroup} under the token ${token}`);
    this.#masters.set(name, incarnation);
  }

  /** A commit has taken effect: 3 and 4, owners follow one another; 10, nothing starts after a cancel was acked. */
  committed(by: string, { epochs, transitions }: CommitBatch, outcomes: readonly Outcome[], tables: Tables, now: number): void {
    for (const { partition, epoch } of epochs) {
      const last = this.#commits.get(partition);
      if (last !== undefined && epoch < last.epoch) this.violate(3, `${by} committed to partition ${partition} under epoch ${epoch} after ${last.by} did under ${last.epoch}`);
      if (last !== undefined && epoch === last.epoch && by !== last.by) this.violate(4, `${by} and ${last.by} both committed to partition ${partition} under epoch ${epoch}`);
      if (last === undefined || epoch >= last.epoch) this.#commits.set(partition, { epoch, by });
    }
    this.limits.committed({ epochs, transitions }, outcomes, tables, now);
    for (const [i, outcome] of outcomes.entries()) {
      const t = transitions[i];
      if (outcome.kind === 'admit' && t?.kind === 'admit' && 'placement' in outcome && outcome.placement === 'started') this.startedAt.set(t.nodeGroup, now);
      if (outcome.kind === 'finish' && t?.kind === 'finish' && outcome.applied && t.end.outcome === 'LOST') this.#checkLoss(t, tables, now);
      if (outcome.kind !== 'start' || t?.kind !== 'start' || !outcome.started) continue;
      const row = tables.rows.get(t.seq);
      if (row === undefined) continue;
      this.startedAt.set(row.nodeGroup, now);
      if (this.#cancelAckedAt.has(row.id)) this.violate(10, `attempt ${t.attempt} of ${row.id} was committed after its cancel was acked`);
    }
  }

  /**
   * Looks at the whole history beside what is stored at the end. `finished`: everything had the time to end; otherwise
   * only what holds at any moment is checked.
   */
  check(tables: Tables, finished: boolean): void {
    for (const row of tables.rows.values()) {
      if (row.state === 'IGNORED') continue;
      const running = row.state === 'EXECUTING' || row.state === 'CANCELLING' ? [{ attempt: row.attempts, fence: row.fence, outcome: '' }] : [];
      for (const { attempt, outcome } of row.records) this.#checkOutcome(row.id, attempt, outcome);
      const attempts = row.records.map(({ attempt, fence, outcome = '' }) => ({ attempt, fence, outcome }));
      this.record({ kind: 'stored', id: row.id, state: row.state === 'BLOCKED' ? 'WAITING' : row.state, attempts: [...attempts, ...running] });
    }
    for (const violation of checkHistory(this.#events)) {
      const needsEnd = violation.promise === 14 || violation.message.includes(' is still ');
      if (finished || !needsEnd) this.violate(violation.promise, violation.message);
    }
  }

  /** 5: a new owner calls nothing lost that a living worker may have, before the worker had the time to say so. */
  #checkLoss({ partition, seq, attempt }: Finish, tables: Tables, now: number): void {
    const { id, records } = tables.rows.get(seq) ?? { id: '', records: [] };
    const incarnation = records.at(-1)?.incarnation ?? '';
    const waitedMs = now - (this.#takenAt.get(partition) ?? 0);
    if (this.#isAlive(incarnation) && waitedMs < this.#graceMs * 0.99) this.violate(5, `attempt ${attempt} of ${id} was called lost ${Math.round(waitedMs)} ms after the take-over, its worker lives`);
  }

  /** 7: what a run has said is the end of its own attempt, of no other. */
  #checkOutcome(id: string, attempt: number, outcome: AttemptOutcome | undefined): void {
    if (outcome !== 'SUCCESS' && outcome !== 'FAILED' && outcome !== 'LATER') return;
    const said = this.#outcomes.get(`${id}/${attempt}`) ?? 'nothing';
    if (said !== outcome) this.violate(7, `attempt ${attempt} of ${id} is stored as ${outcome}, its run said ${said}`);
  }
}
