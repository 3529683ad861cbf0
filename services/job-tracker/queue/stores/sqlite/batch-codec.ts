import type { CommitBatch, GroupLimits, NewlyReady, Outcome, Placement, Transition, WorkerIdentity } from '../../queue-store.js';
import { finalStateOf, outcomeCodes, outcomeOf, stateCodes } from '../codes.js';
import { JobPacker, jobsOf } from './packed-jobs.js';
import { policyOf, policyText } from '../policy-text.js';

/**
 * A batch as it goes to the writer's thread: one column of numbers, one of strings, all jobs in one transferred
 * buffer. Cloning thousands of small objects would cost more than storing them; and a job is often a slice of a
 * large network buffer that must not be cloned with it.
 */
export interface PackedBatch {
  numbers: Float64Array<ArrayBuffer>;
  strings: string[];
  /** Strings that repeat; numbers point into it. */
  names: string[];
  jobs: Uint8Array<ArrayBuffer>;
}

const kinds = ['admit', 'start', 'finish', 'reassign', 'cancel', 'promote', 'late', 'limit'] as const;
const kindCodes = Object.fromEntries(kinds.map((kind, code) => [kind, code])) as Record<Transition['kind'], number>;

const limitNames = ['backlog', 'maxRunning', 'startsPerSecond'] as const;
const noLimit = -1;

/** Packs the batch; the job buffers are copied, not taken. */
export function packBatch(batch: CommitBatch): PackedBatch {
  const packer = new BatchPacker();
  packer.numbers.push(batch.epochs.length);
  for (const { partition, epoch } of batch.epochs) packer.numbers.push(partition, epoch);
  packer.numbers.push(batch.transitions.length);
  for (const transition of batch.transitions) packer.add(transition);
  return packer.finish();
}

class BatchPacker {
  readonly numbers: number[] = [];
  readonly #strings: string[] = [];
  readonly #names = new Map<string, number>();
  readonly #jobs = new JobPacker();

  add(t: Transition): void {
    this.numbers.push(kindCodes[t.kind], t.partition);
    switch (t.kind) {
      case 'admit':
        this.#strings.push(t.id, t.taskId);
        this.numbers.push(
          this.#name(t.nodeGroup), this.#name(t.type), this.#name(t.submitNodeGroup), this.#name(policyText(t.policy)),
          t.priority, t.dueAt, t.createdAt, (t.clientId ? 1 : 0) | (t.needFeedback ? 2 : 0) | (t.replaceOnExist ? 4 : 0) | (t.fromFailStore ? 8 : 0), t.job.length,
        );
        this.#jobs.add(t.job);
        if (t.start === undefined) this.numbers.push(-1);
        else this.numbers.push(t.start.fence, ...this.#worker(t.start.worker));
        break;
      case 'start':
        this.numbers.push(t.seq, t.attempt, t.fence, ...this.#worker(t.worker), t.at, t.wantJob ? 1 : 0);
        break;
      case 'finish':
        this.#strings.push(t.end.message);
        this.numbers.push(t.seq, t.attempt, outcomeCodes[t.end.outcome], t.end.truncated ? 1 : 0, t.end.startedAt, t.at);
        if ('state' in t.next) this.numbers.push(stateCodes[t.next.state]);
        else this.numbers.push(0, t.next.dueAt, t.next.retryTimes, t.next.lostTimes);
        break;
      case 'reassign':
        this.numbers.push(t.seq, t.attempt, ...this.#worker(t.worker), t.at);
        break;
      case 'cancel':
        this.#strings.push(t.id ?? t.taskId ?? '');
        this.numbers.push(this.#name(t.nodeGroup), t.id !== undefined ? 0 : t.taskId !== undefined ? 1 : 2, t.at);
        break;
      case 'promote':
        this.numbers.push(t.now, t.limit);
        break;
      case 'late':
        this.#strings.push(t.id, t.message);
        this.numbers.push(t.attempt, outcomeCodes[t.outcome]);
        break;
      case 'limit':
        this.numbers.push(this.#name(t.nodeGroup), ...limitNames.map((name) => t.limits[name] ?? noLimit));
        break;
    }
  }

  finish(): PackedBatch {
    return { numbers: new Float64Array(this.numbers), strings: this.#strings, names: [...this.#names.keys()], jobs: this.#jobs.finish() };
  }

  #name(text: string): number {
    let at = this.#names.get(text);
    if (at === undefined) this.#names.set(text, (at = this.#names.size));
    return at;
  }

  #worker({ nodeId, incarnation }: WorkerIdentity): [number, number] {
    return [this.#name(nodeId), this.#name(incarnation)];
  }
}

/** The batch of its packed form. */
export function unpackBatch(packed: PackedBatch): CommitBatch {
  const reader = new BatchReader(packed);
  const epochs = Array.from({ length: reader.number() }, () => ({ partition: reader.number(), epoch: reader.number() }));
  const transitions = Array.from({ length: reader.number() }, () => reader.transition());
  return { epochs, transitions };
}

class BatchReader {
  readonly #packed: PackedBatch;
  readonly #jobs: Buffer;
  #number = 0;
  #string = 0;
  #job = 0;

  constructor(packed: PackedBatch) {
    this.#packed = packed;
    this.#jobs = Buffer.from(packed.jobs.buffer, packed.jobs.byteOffset, packed.jobs.length);
  }

  number(): number {
    return this.#packed.numbers[this.#number++] as number;
  }

  #text(): string {
    return this.#packed.strings[this.#string++] as string;
  }

  #name(): string {
    return this.#packed.names[this.number()] as string;
  }

  #worker(): WorkerIdentity {
    return { nodeId: this.#name(), incarnation: this.#name() };
  }

  transition(): Transition {
    const kind = kinds[this.number()] as Transition['kind'];
    const partition = this.number();
    switch (kind) {
      case 'admit':
        return this.#admit(partition);
      case 'start':
        return {
          kind, partition, seq: this.number(), attempt: this.number(), fence: this.number(), worker: this.#worker(), at: this.number(),
          wantJob: this.number() === 1,
        };
      case 'finish':
        return this.#finish(partition);
      case 'reassign':
        return { kind, partition, seq: this.number(), attempt: this.number(), worker: this.#worker(), at: this.number() };
      case 'cancel': {
        const [text, nodeGroup, by, at] = [this.#text(), this.#name(), this.number(), this.number()];
        return { kind, partition, nodeGroup, at, ...(by === 0 ? { id: text } : by === 1 ? { taskId: text } : {}) };
      }
      case 'promote':
        return { kind, partition, now: this.number(), limit: this.number() };
      case 'late': {
        const outcome = outcomeOf(this.#packed.numbers[this.#number + 1] as number) ?? 'EXCEPTION';
        const row = { kind, partition, id: this.#text(), attempt: this.number(), outcome, message: this.#text() };
        this.#number++;
        return row;
      }
      case 'limit':
        return { kind, partition, nodeGroup: this.#name(), limits: this.#limits() };
      case 'enroll':
      case 'fire':
      case 'alter':
      case 'release':
        throw new Error(`${kind} is not there yet`);
    }
  }

  #limits(): GroupLimits {
    const given = limitNames.map((name) => [name, this.number()] as const).filter(([, value]) => value !== noLimit);
    return Object.fromEntries(given);
  }

  #admit(partition: number): Transition {
    const [id, taskId] = [this.#text(), this.#text()];
    const [nodeGroup, type, submitNodeGroup, policy] = [this.#name(), this.#name(), this.#name(), this.#name()];
    const [priority, dueAt, createdAt, flags, length, fence] = [this.number(), this.number(), this.number(), this.number(), this.number(), this.number()];
    const job = this.#jobs.subarray(this.#job, (this.#job += length));
    return {
      kind: 'admit', id, partition, nodeGroup, taskId, type, priority, dueAt, createdAt, submitNodeGroup, job,
      clientId: (flags & 1) !== 0,
      needFeedback: (flags & 2) !== 0,
      replaceOnExist: (flags & 4) !== 0,
      fromFailStore: (flags & 8) !== 0,
      policy: policyOf(policy),
      start: fence === -1 ? undefined : { fence, worker: this.#worker() },
    };
  }

  #finish(partition: number): Transition {
    const [seq, attempt, outcome, truncated, startedAt, at, state] = [
      this.number(), this.number(), this.number(), this.number(), this.number(), this.number(), this.number(),
    ];
    return {
      kind: 'finish', partition, seq, attempt, at,
      end: { outcome: outcomeOf(outcome) ?? 'EXCEPTION', message: this.#text(), truncated: truncated === 1, startedAt },
      next: state === 0 ? { dueAt: this.number(), retryTimes: this.number(), lostTimes: this.number() } : { state: finalStateOf(state) },
    };
  }
}

/** Outcomes as they come back: the common ones as numbers, the others as objects; jobs in one transferred buffer. */
export interface PackedOutcomes {
  numbers: Float64Array<ArrayBuffer>;
  names: string[];
  others: Outcome[];
  jobLengths: number[];
  jobs: Uint8Array<ArrayBuffer>;
}

const placements: readonly Placement[] = ['started', 'ready', 'waiting', 'blocked'];
const other = 0;
const admitted = 1;
const begun = 2;
const finished = 3;

/** Packs the outcomes; those that go as objects lose their jobs to the buffer. */
export function packOutcomes(outcomes: readonly Outcome[]): PackedOutcomes {
  const numbers: number[] = [];
  const names = new Map<string, number>();
  const others: Outcome[] = [];
  const jobs = new JobPacker();
  for (const outcome of outcomes) {
    if (outcome.kind === 'admit' && outcome.result === 'accepted') {
      numbers.push(admitted, outcome.seq, placements.indexOf(outcome.placement));
    } else if (outcome.kind === 'start') {
      numbers.push(begun, outcome.started ? 1 : 0, jobs.add(outcome.job));
    } else if (outcome.kind === 'finish' && outcome.ready === undefined && outcome.waitingUntil === undefined) {
      const owed = outcome.owedTo;
      if (owed !== undefined && !names.has(owed)) names.set(owed, names.size);
      numbers.push(finished, outcome.applied ? 1 : 0, owed === undefined ? -1 : (names.get(owed) as number));
    } else {
      numbers.push(other);
      for (const row of rowsWithJob(outcome)) {
        jobs.add(row.job);
        row.job = undefined;
      }
      others.push(outcome);
    }
  }
  return { numbers: new Float64Array(numbers), names: [...names.keys()], others, jobLengths: jobs.lengths, jobs: jobs.finish() };
}

/** The outcomes of their packed form. */
export function unpackOutcomes(packed: PackedOutcomes): Outcome[] {
  const { numbers, names, others } = packed;
  const nextJob = jobsOf(packed.jobLengths, packed.jobs);
  const outcomes: Outcome[] = [];
  let otherAt = 0;
  for (let at = 0; at < numbers.length; ) {
    const code = numbers[at] as number;
    const [first, second] = [numbers[at + 1] as number, numbers[at + 2] as number];
    at += code === other ? 1 : 3;
    if (code === admitted) outcomes.push({ kind: 'admit', result: 'accepted', seq: first, placement: placements[second] as Placement });
    else if (code === begun) outcomes.push({ kind: 'start', started: first === 1, job: nextJob() });
    else if (code === finished) outcomes.push({ kind: 'finish', applied: first === 1, owedTo: names[second] });
    else {
      const outcome = others[otherAt++] as Outcome;
      for (const row of rowsWithJob(outcome)) row.job = nextJob();
      outcomes.push(outcome);
    }
  }
  return outcomes;
}

/** The parts of an outcome that may bring a job's bytes. */
function rowsWithJob(outcome: Outcome): { job?: Buffer | undefined }[] {
  if (outcome.kind === 'promote') return outcome.ready;
  if (outcome.kind === 'reassign') return [outcome];
  const ready: NewlyReady | undefined = outcome.kind === 'finish' || outcome.kind === 'cancel' ? outcome.ready : undefined;
  return ready === undefined ? [] : [ready];
}
