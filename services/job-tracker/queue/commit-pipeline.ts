import type { LtsError } from '../../../shared/errors/lts-error.js';
import type { Clock } from '../../../shared/time/clock.js';
import { FairQueue, type Queued } from './fair-queue.js';
import { CommitFailed, type HeldEpoch, type Outcome, type QueueStore, type Transition } from './queue-store.js';

/** Called once: with the outcome, or with the error that kept the transition from the store. */
export type Settle = (outcome: Outcome | undefined, error: LtsError | undefined) => void;

/** `bytes`: what it brings into the store or out of it. */
interface Pending extends Queued {
  transition: Transition;
  settle: Settle;
}

/** A commit that the store has. */
interface Sent {
  taken: Pending[];
  epochs: HeldEpoch[];
  outcomes: Promise<Outcome[]>;
}

/** What a pipeline needs to know of its owner. */
export interface PipelineOwner {
  /** The epoch under which a partition is owned; undefined: it is not. */
  epochOf(partition: number): number | undefined;
  /** Why a partition is not owned, for those who wanted something of it: who owns it, or that it is being loaded. */
  notOwning(partition: number): LtsError;
  /** The partitions of a failed commit must be taken again: its outcome is unknown. */
  onUnknown(partitions: readonly number[], error: LtsError): void;
  /** A higher epoch is stored for at least one of these. */
  onFenced(partitions: readonly number[], error: LtsError): void;
  /** Nothing of a commit was stored; its callers are told. */
  onRolledBack(error: LtsError): void;
  /** All outcomes of one commit have been told: what they caused can be sent. */
  onCommitted(): void;
}

/** Fewer than often wait: while the store has these, the outcomes of the ones before are told, and bring the next. */
const mostRows = 500;
const mostBytes = 4 * 1024 * 1024;
/** A transition without a job, about. */
const smallBytes = 256;
const troubleHoldsMs = 60_000;

/**
 * The one way into the store: what arrives while a commit runs forms the next one, transitions of all partitions
 * together, each commit under the epochs that were held when it began. The next one is sent before the outcomes of the one
 * before are told, so what an outcome causes is in the one after it. When more waits than one commit takes, the
 * groups take turns: whatever floods one of them, another one's transition is in after a number of commits that depends
 * only on how many groups wait. The transitions of one group keep their order.
 */
export class CommitPipeline {
  readonly #store: QueueStore;
  readonly #owner: PipelineOwner;
  readonly #clock: Pick<Clock, 'soon' | 'monotonic'>;
  readonly #queue = new FairQueue<Pending>(mostRows, mostBytes);
  /** Monotonic milliseconds. */
  #trouble: { error: LtsError; at: number } | undefined;
  #running = false;
  #scheduled = false;
  #idle: (() => void)[] = [];
  /** Transitions that were given so far; each has its number. */
  #given = 0;
  #barriers: { at: number; resolve: () => void }[] = [];

  constructor(store: QueueStore, owner: PipelineOwner, clock: Pick<Clock, 'soon' | 'monotonic'>) {
    this.#store = store;
    this.#owner = owner;
    this.#clock = clock;
  }

  /** Transitions that wait for a commit. */
  get depth(): number {
    return this.#queue.length;
  }

  /** Bytes that wait for a commit. */
  get bytes(): number {
    return this.#queue.bytes;
  }

  /** Why the last commit came to nothing, when it was less than a minute ago and none has passed since. */
  get trouble(): LtsError | undefined {
    return this.#trouble !== undefined && this.#clock.monotonic() - this.#trouble.at < troubleHoldsMs ? this.#trouble.error : undefined;
  }

  /** Whether the group has at least its share of what waits. */
  isCrowdedBy(nodeGroup: string): boolean {
    return this.#queue.isLong(nodeGroup);
  }

  /**
   * @param bytes what the outcome is likely to bring, when that is a job
   * @param nodeGroup the group that it belongs to
   */
  add(transition: Transition, settle: Settle, bytes = transition.kind === 'admit' ? transition.job.length : smallBytes, nodeGroup = groupOf(transition)): void {
    this.#queue.push({ transition, settle, bytes, lane: nodeGroup, order: this.#given++ });
    this.#schedule();
  }

  /** Resolves when nothing is queued and no commit runs. */
  idle(): Promise<void> {
    if (!this.#running && this.#queue.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Resolves when all that was given before is settled, whatever comes behind it. */
  barrier(): Promise<void> {
    if (!this.#running && this.#queue.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#barriers.push({ at: this.#given, resolve }));
  }

  #schedule(): void {
    if (this.#running || this.#scheduled) return;
    this.#scheduled = true;
    // One turn of the loop: what the same read from a socket brought forms one commit.
    this.#clock.soon(() => {
      this.#scheduled = false;
      void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running = true;
    let sent: Sent | undefined;
    while (sent !== undefined || this.#queue.length > 0) {
      sent ??= this.#send(this.#queue.take());
      if (sent !== undefined) sent = await this.#settle(sent);
      this.#passBarriers(sent);
    }
    this.#running = false;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  #passBarriers(sent: Sent | undefined): void {
    if (this.#barriers.length === 0) return;
    const oldest = (sent?.taken ?? []).reduce((least, { order }) => Math.min(least, order), this.#queue.oldest);
    while (this.#barriers[0] !== undefined && this.#barriers[0].at <= oldest) this.#barriers.shift()?.resolve();
  }

  #owned(pending: Pending): boolean {
    if (this.#owner.epochOf(pending.transition.partition) !== undefined) return true;
    pending.settle(undefined, this.#owner.notOwning(pending.transition.partition));
    return false;
  }

  /** Undefined: nothing of it is owned any more. */
  #send(waiting: Pending[]): Sent | undefined {
    const taken = waiting.filter((pending) => this.#owned(pending));
    if (taken.length === 0) return undefined;
    const touched = new Set<number>();
    for (const { transition } of taken) touched.add(transition.partition);
    const epochs: HeldEpoch[] = Array.from(touched, (partition) => ({ partition, epoch: this.#owner.epochOf(partition) as number }));
    epochs.sort((a, b) => a.partition - b.partition);
    return { taken, epochs, outcomes: this.#store.commit({ epochs, transitions: taken.map((pending) => pending.transition) }) };
  }

  /** Tells what became of a commit, and gives the next one, if it was sent meanwhile. */
  async #settle({ taken, epochs, outcomes }: Sent): Promise<Sent | undefined> {
    let told: Outcome[];
    try {
      told = await outcomes;
    } catch (error) {
      return this.#failed(taken, epochs, error);
    }
    this.#trouble = undefined;
    // First, so that the store has work while the outcomes are told. After a failure it waits until memory has followed.
    const next = this.#queue.length > 0 ? this.#send(this.#queue.take()) : undefined;
    for (let i = 0; i < taken.length; i++) this.#tell(taken[i] as Pending, told[i] as Outcome);
    this.#owner.onCommitted();
    return next;
  }

  #tell({ settle }: Pending, outcome: Outcome): void {
    if (outcome.kind !== 'refused') return settle(outcome, undefined);
    const failed = new CommitFailed('STORE_FAILED', outcome.message, true);
    this.#owner.onRolledBack(failed);
    settle(undefined, failed);
  }

  async #failed(taken: Pending[], epochs: HeldEpoch[], cause: unknown): Promise<Sent | undefined> {
    const failed = cause instanceof CommitFailed ? cause : new CommitFailed('STORE_FAILED', 'the store failed', false, cause);
    if (failed.reason === 'STALE_EPOCH') return this.#fenced(taken, epochs, failed);
    this.#trouble = { error: failed, at: this.#clock.monotonic() };
    if (failed.rolledBack) this.#owner.onRolledBack(failed);
    else this.#owner.onUnknown(epochs.map((held) => held.partition), failed);
    for (const pending of taken) pending.settle(undefined, failed);
    this.#owner.onCommitted();
    return undefined;
  }

  /** Nothing was stored. Only what belongs to the partitions that were taken over is refused; the rest is tried again. */
  async #fenced(taken: Pending[], epochs: HeldEpoch[], failed: CommitFailed): Promise<Sent | undefined> {
    const stale = await this.#store.fenced(epochs).catch(() => []);
    const gone = new Set(stale.length > 0 ? stale : epochs.map((held) => held.partition));
    this.#owner.onFenced([...gone], failed);
    for (const pending of taken) if (gone.has(pending.transition.partition)) pending.settle(undefined, this.#owner.notOwning(pending.transition.partition));
    this.#owner.onCommitted();
    return this.#send(taken.filter(({ transition }) => !gone.has(transition.partition)));
  }
}

/** Those that name no group wait with those of their partition. */
function groupOf(transition: Transition): string {
  return 'nodeGroup' in transition ? transition.nodeGroup : `/${transition.partition}`;
}
