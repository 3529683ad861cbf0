import type {
  Admit, AdmitOutcome, AlterOutcome, CancelOutcome, CommitBatch, EndRunsOutcome, Enroll, EnrollOutcome, FinishOutcome, FireOutcome, NewlyReady, Outcome, Placement, PromoteOutcome, ReleaseOutcome, Transition,
} from '../../queue-store.js';
import { heldUntil } from '../../queue-store.js';
import { policyOf } from '../policy-text.js';
import { sameJob } from '../same-job.js';

/** A row of `lts.commit`: the migrations tell what each kind of it means. */
export interface OutcomeRow {
  what: number;
  ord: number;
  numbers: number[] | null;
  id: string | null;
  name: string | null;
  type: string | null;
  policy: string | null;
  job: Buffer | null;
}

const placements = ['blocked', 'waiting', 'ready', 'started'] as const satisfies readonly Placement[];
const firstAnswers = ['accepted', 'replaced', 'duplicate', 'accepted', 'replaced'] as const;
const alterResults = ['unknown', 'done', 'unchanged', 'stale', 'many'] as const satisfies readonly AlterOutcome['result'][];

/** Whether an admit met an id or a task that is taken. */
export function isClash({ what }: OutcomeRow): boolean {
  return what >= 8 && what <= 11;
}

/** The outcomes of a batch, one for each transition. */
export function outcomesOf(batch: CommitBatch, rows: readonly OutcomeRow[]): Outcome[] {
  const outcomes = new Outcomes(batch.transitions);
  for (const row of rows) outcomes.add(row);
  return outcomes.all.map((outcome, i) => {
    if (outcome === undefined) throw new Error(`the store did not answer for transition ${i + 1} of a commit`);
    return outcome;
  });
}

class Outcomes {
  readonly all: (Outcome | undefined)[];
  readonly #transitions: readonly Transition[];
  readonly #owed: { outcome: FinishOutcome; client: number }[] = [];

  constructor(transitions: readonly Transition[]) {
    this.#transitions = transitions;
    this.all = transitions.map(nothing);
  }

  add(row: OutcomeRow): void {
    const numbers = row.numbers ?? [];
    const [first = 0, second = 0, third = 0, fourth = 0] = numbers;
    const id = row.id ?? '';
    switch (row.what) {
      case 1:
        return this.#eachPair(numbers, (ord, seq) => this.#put(ord, { kind: 'admit', result: 'accepted', seq, placement: placementOf(this.#at<Admit>(ord)) }));
      case 2:
        for (const ord of numbers) this.#take(ord);
        return;
      case 3:
        return this.#eachPair(numbers, (ord, client) => this.#finished(ord, client));
      case 4:
        for (const { outcome, client } of this.#owed) if (client === row.ord) outcome.owedTo = row.name ?? '';
        return;
      case 5:
        this.#change<{ job?: Buffer | undefined }>(row.ord, { job: row.job ?? undefined });
        return;
      case 6:
        return this.#ready(row);
      case 7:
        this.#change<FinishOutcome | CancelOutcome>(row.ord, { waitingUntil: first });
        return;
      case 8:
        return this.#put(row.ord, { kind: 'admit', result: 'accepted', seq: first, placement: placements[second] ?? 'waiting' });
      case 9:
        return this.#put(row.ord, {
          kind: 'admit', result: 'replaced', seq: first, placement: placements[second] ?? 'waiting', existingId: id, existingSeq: third,
          existingPlacement: placements[fourth] ?? 'waiting',
        });
      case 10:
        return this.#put(row.ord, { kind: this.#at<Admit | Enroll>(row.ord).kind, result: 'duplicate', existingId: id });
      case 11:
        return this.#put(row.ord, again(this.#at<Admit | Enroll>(row.ord), first, id, row.job));
      case 12:
        this.#of<CancelOutcome | AlterOutcome | EndRunsOutcome>(row.ord).cancelled.push({
          id, seq: first, placement: placements[second] as 'ready' | 'waiting', ...(row.name === null ? {} : { owedTo: row.name }),
        });
        return;
      case 13:
        return this.#runs(this.#of<CancelOutcome | AlterOutcome>(row.ord), { id, seq: first, attempt: second });
      case 14:
        this.#of<CancelOutcome>(row.ord).ended.push(id);
        return;
      case 15:
        this.#change<PromoteOutcome>(row.ord, { nextDueAt: first >= heldUntil ? undefined : numbers[0] });
        return;
      case 16:
        return this.#put(row.ord, { kind: 'late', known: true });
      default:
        return this.#addOfSchedule(row, numbers, id);
    }
  }

  #addOfSchedule({ what, ord }: OutcomeRow, numbers: readonly number[], id: string): void {
    const [first = 0, second = 0, third = 0] = numbers;
    switch (what) {
      case 17:
        for (const each of numbers) this.#change<FinishOutcome>(each, { over: true });
        return;
      case 18:
        return this.#put(ord, id === '' ? { kind: 'enroll', result: 'accepted', sched: first, version: second } : { kind: 'enroll', result: 'replaced', sched: first, version: second, existingId: id });
      case 19:
        for (const each of numbers) this.#change<FireOutcome>(each, { applied: true });
        return;
      case 20:
        return this.#made(numbers);
      case 21:
        for (const each of numbers) this.#change<FireOutcome>(each, { again: true });
        return;
      case 22:
        return this.#change<AlterOutcome>(ord, { result: alterResults[first] ?? 'unknown', sched: second, version: third });
      case 23:
        return this.#change<CancelOutcome>(ord, { schedule: id });
      case 24:
        return this.#change<CancelOutcome | AlterOutcome | EndRunsOutcome>(ord, { left: true });
      case 25:
        return this.#change<CancelOutcome>(ord, { many: true });
      default:
        throw new Error(`the store answered a commit with a row of kind ${what}`);
    }
  }

  /** Ords in the first third, then arrivals, then placements. */
  #made(numbers: readonly number[]): void {
    const third = numbers.length / 3;
    for (let i = 0; i < third; i++) {
      const placement = placements[numbers[2 * third + i] as number] as FireOutcome['runs'][number]['placement'];
      this.#of<FireOutcome>(numbers[i] as number).runs.push({ seq: numbers[third + i] as number, placement });
    }
  }

  #runs(outcome: CancelOutcome | AlterOutcome, run: AlterOutcome['running'][number]): void {
    if (outcome.kind === 'alter') outcome.running.push(run);
    else outcome.cancelling.push(run);
  }

  /** Ords in the first half, what belongs to them in the second. */
  #eachPair(numbers: readonly number[], take: (ord: number, value: number) => void): void {
    const half = numbers.length / 2;
    for (let i = 0; i < half; i++) take(numbers[i] as number, numbers[half + i] as number);
  }

  #take(ord: number): void {
    this.#put(ord, this.#at(ord).kind === 'start' ? { kind: 'start', started: true } : { kind: 'reassign', applied: true });
  }

  #finished(ord: number, client: number): void {
    const outcome: FinishOutcome = { kind: 'finish', applied: true };
    if (client !== 0) this.#owed.push({ outcome, client });
    this.#put(ord, outcome);
  }

  #ready(row: OutcomeRow): void {
    const ready = readyOf(row);
    const outcome = this.#of<PromoteOutcome | FinishOutcome | CancelOutcome | ReleaseOutcome>(row.ord);
    if (outcome.kind === 'promote') outcome.ready.push(ready);
    else outcome.ready = ready;
  }

  #put(ord: number, outcome: Outcome): void {
    this.all[ord - 1] = outcome;
  }

  #at<T extends Transition>(ord: number): T {
    return this.#transitions[ord - 1] as T;
  }

  #of<T>(ord: number): T {
    return this.all[ord - 1] as T;
  }

  #change<T>(ord: number, values: Partial<T>): void {
    Object.assign(this.#of<object>(ord), values);
  }
}

/** What took no effect brings no row; only an admit and an enroll always bring one. */
function nothing(t: Transition): Outcome | undefined {
  switch (t.kind) {
    case 'admit':
    case 'enroll':
      return undefined;
    case 'start':
      return { kind: 'start', started: false };
    case 'reassign':
    case 'finish':
      return { kind: t.kind, applied: false };
    case 'cancel':
      return { kind: 'cancel', cancelled: [], cancelling: [], ended: [] };
    case 'promote':
      return { kind: 'promote', ready: [], nextDueAt: undefined };
    case 'late':
      return { kind: 'late', known: false };
    case 'limit':
      return { kind: 'limit' };
    case 'fire':
      return { kind: 'fire', applied: false, again: false, runs: [] };
    case 'alter':
      return { kind: 'alter', result: 'unknown', sched: 0, version: 0, cancelled: [], running: [] };
    case 'endRuns':
      return { kind: 'endRuns', cancelled: [], left: false };
    case 'release':
      return { kind: 'release', ready: undefined };
  }
}

/** Of a job whose task was free. */
function placementOf({ dueAt, createdAt, start }: Admit): Placement {
  if (dueAt > createdAt) return 'waiting';
  return start === undefined ? 'ready' : 'started';
}

function again(t: Admit | Enroll, answer: number, related: string, stored: Buffer | null): AdmitOutcome | EnrollOutcome {
  if (stored !== null && !sameJob(stored, t.job)) return { kind: t.kind, result: 'conflict' };
  return { kind: t.kind, result: 'again', first: firstAnswers[answer] ?? 'accepted', existingId: related };
}

function readyOf({ numbers, id, name, type, policy, job }: OutcomeRow): NewlyReady {
  const [seq = 0, priority = 0, dueAt = 0, attempts = 0, retryTimes = 0, lostTimes = 0, scheduledAt = dueAt] = numbers ?? [];
  return { nodeGroup: name ?? '', id: id ?? '', seq, type: type ?? '', priority, dueAt, scheduledAt, attempts, retryTimes, lostTimes, policy: policyOf(policy), job: job ?? undefined };
}
