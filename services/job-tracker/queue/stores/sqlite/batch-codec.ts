import type { Bounded, CommitBatch, GroupLimits, Transition, WorkerIdentity } from '../../queue-store.js';
import { finalStateOf, outcomeCodes, outcomeOf, stateCodes } from '../codes.js';
import { JobPacker } from './packed-jobs.js';
import { policyOf, policyText } from '../policy-text.js';
import { packSchedule, unpackSchedule } from './schedule-codec.js';

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

const kinds = ['admit', 'start', 'finish', 'reassign', 'cancel', 'promote', 'late', 'limit', 'enroll', 'fire', 'alter', 'release', 'endRuns'] as const;
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

/** Writes a batch column by column. */
export class BatchPacker {
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
          this.name(t.nodeGroup), this.name(t.type), this.name(t.submitNodeGroup), this.name(policyText(t.policy)),
          t.priority, t.dueAt, t.createdAt, (t.clientId ? 1 : 0) | (t.needFeedback ? 2 : 0) | (t.replaceOnExist ? 4 : 0) | (t.fromFailStore ? 8 : 0),
        );
        this.job(t.job);
        this.start(t.start);
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
        this.numbers.push(this.name(t.nodeGroup), t.id !== undefined ? 0 : t.taskId !== undefined ? 1 : 2, t.at);
        this.numbers.push(t.as === undefined ? 0 : stateCodes[t.as.state]);
        if (t.as !== undefined) this.#strings.push(t.as.message);
        this.bound(t);
        break;
      case 'promote':
        this.numbers.push(t.now, t.limit);
        break;
      case 'late':
        this.#strings.push(t.id, t.message);
        this.numbers.push(t.attempt, outcomeCodes[t.outcome]);
        break;
      case 'limit':
        this.numbers.push(this.name(t.nodeGroup), ...limitNames.map((name) => t.limits[name] ?? noLimit));
        break;
      default:
        packSchedule(this, t);
    }
  }

  texts(...texts: string[]): void {
    this.#strings.push(...texts);
  }

  /** A number that may not be there. */
  optional(value: number | undefined): void {
    this.numbers.push(value ?? Number.NaN);
  }

  bound({ bound }: Bounded): void {
    this.numbers.push(bound === undefined ? 0 : bound.halted ? 2 : 1);
    if (bound !== undefined) this.numbers.push(bound.most);
  }

  job(job: Buffer | undefined): void {
    this.numbers.push(this.#jobs.add(job));
  }

  start(start: { worker: WorkerIdentity; fence: number } | undefined): void {
    if (start === undefined) this.numbers.push(-1);
    else this.numbers.push(start.fence, ...this.#worker(start.worker));
  }

  finish(): PackedBatch {
    return { numbers: new Float64Array(this.numbers), strings: this.#strings, names: [...this.#names.keys()], jobs: this.#jobs.finish() };
  }

  name(text: string): number {
    let at = this.#names.get(text);
    if (at === undefined) this.#names.set(text, (at = this.#names.size));
    return at;
  }

  #worker({ nodeId, incarnation }: WorkerIdentity): [number, number] {
    return [this.name(nodeId), this.name(incarnation)];
  }
}

/** The batch of its packed form. */
export function unpackBatch(packed: PackedBatch): CommitBatch {
  const reader = new BatchReader(packed);
  const epochs = Array.from({ length: reader.number() }, () => ({ partition: reader.number(), epoch: reader.number() }));
  const transitions = Array.from({ length: reader.number() }, () => reader.transition());
  return { epochs, transitions };
}

/** Reads it back in the same order. */
export class BatchReader {
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

  text(): string {
    return this.#packed.strings[this.#string++] as string;
  }

  name(): string {
    return this.#packed.names[this.number()] as string;
  }

  #worker(): WorkerIdentity {
    return { nodeId: this.name(), incarnation: this.name() };
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
        const [text, nodeGroup, by, at] = [this.text(), this.name(), this.number(), this.number()];
        const as = this.number();
        return {
          kind, partition, nodeGroup, at, ...(by === 0 ? { id: text } : by === 1 ? { taskId: text } : {}),
          ...(as === 0 ? {} : { as: { state: finalStateOf(as) as 'FAILED' | 'DISCARDED' | 'CANCELLED', message: this.text() } }),
          ...this.bound(),
        };
      }
      case 'promote':
        return { kind, partition, now: this.number(), limit: this.number() };
      case 'late': {
        const outcome = outcomeOf(this.#packed.numbers[this.#number + 1] as number) ?? 'EXCEPTION';
        const row = { kind, partition, id: this.text(), attempt: this.number(), outcome, message: this.text() };
        this.#number++;
        return row;
      }
      case 'limit':
        return { kind, partition, nodeGroup: this.name(), limits: this.#limits() };
      default:
        return unpackSchedule(this, kind, partition);
    }
  }

  optional(): number | undefined {
    const value = this.number();
    return Number.isNaN(value) ? undefined : value;
  }

  bound(): Bounded {
    const kind = this.number();
    return kind === 0 ? {} : { bound: { most: this.number(), halted: kind === 2 } };
  }

  job(): Buffer | undefined {
    const length = this.number();
    return length < 0 ? undefined : this.#jobs.subarray(this.#job, (this.#job += length));
  }

  start(): { worker: WorkerIdentity; fence: number } | undefined {
    const fence = this.number();
    return fence === -1 ? undefined : { fence, worker: this.#worker() };
  }

  #limits(): GroupLimits {
    const given = limitNames.map((name) => [name, this.number()] as const).filter(([, value]) => value !== noLimit);
    return Object.fromEntries(given);
  }

  #admit(partition: number): Transition {
    const [id, taskId] = [this.text(), this.text()];
    const [nodeGroup, type, submitNodeGroup, policy] = [this.name(), this.name(), this.name(), this.name()];
    const [priority, dueAt, createdAt, flags] = [this.number(), this.number(), this.number(), this.number()];
    const job = this.job() ?? Buffer.alloc(0);
    return {
      kind: 'admit', id, partition, nodeGroup, taskId, type, priority, dueAt, createdAt, submitNodeGroup, job,
      clientId: (flags & 1) !== 0,
      needFeedback: (flags & 2) !== 0,
      replaceOnExist: (flags & 4) !== 0,
      fromFailStore: (flags & 8) !== 0,
      policy: policyOf(policy),
      start: this.start(),
    };
  }

  #finish(partition: number): Transition {
    const [seq, attempt, outcome, truncated, startedAt, at, state] = [
      this.number(), this.number(), this.number(), this.number(), this.number(), this.number(), this.number(),
    ];
    return {
      kind: 'finish', partition, seq, attempt, at,
      end: { outcome: outcomeOf(outcome) ?? 'EXCEPTION', message: this.text(), truncated: truncated === 1, startedAt },
      next: state === 0 ? { dueAt: this.number(), retryTimes: this.number(), lostTimes: this.number() } : { state: finalStateOf(state) },
    };
  }
}
