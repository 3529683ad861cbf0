import { describe, expect, it } from 'vitest';
import { LtsError } from '../../../shared/errors/lts-error.js';
import { systemClock } from '../../../shared/time/clock.js';
import { settle } from '../../../test/kit/virtual-clock.js';
import { CommitPipeline } from './commit-pipeline.js';
import { type CommitBatch, CommitFailed, type Outcome, type QueueStore, type Transition } from './queue-store.js';

const promote = (partition: number, limit = 1): Transition => ({ kind: 'promote', partition, now: 0, limit });

class Bench {
  readonly batches: CommitBatch[] = [];
  readonly answers: ((error?: Error, outcomes?: Outcome[]) => void)[] = [];
  readonly unknown: number[][] = [];
  readonly fenced: number[][] = [];
  readonly rolledBack: string[] = [];
  readonly epochs = new Map([[0, 5], [1, 7]]);
  /** What the store says of held epochs; an error: it does not answer. */
  stale: number[] | Error = [];
  readonly pipeline: CommitPipeline;
  committed = 0;

  constructor() {
    const store = {
      commit: (batch: CommitBatch): Promise<Outcome[]> =>
        new Promise((resolve, reject) => {
          this.batches.push(batch);
          this.answers.push((error, outcomes) => (error ? reject(error) : resolve(outcomes ?? batch.transitions.map(() => ({ kind: 'promote', ready: [], nextDueAt: undefined })))));
        }),
      fenced: async (): Promise<number[]> => {
        if (this.stale instanceof Error) throw this.stale;
        return this.stale;
      },
    } as unknown as QueueStore;
    this.pipeline = new CommitPipeline(store, {
      epochOf: (partition) => this.epochs.get(partition),
      notOwning: (partition) => new LtsError('NOT_OWNER', `partition ${partition}`, { owner: 'there:1' }),
      onUnknown: (partitions) => {
        this.unknown.push([...partitions]);
        for (const partition of partitions) this.epochs.delete(partition);
      },
      onFenced: (partitions) => {
        this.fenced.push([...partitions]);
        for (const partition of partitions) this.epochs.delete(partition);
      },
      onRolledBack: (error) => this.rolledBack.push(error.reason),
      onCommitted: () => this.committed++,
    }, systemClock);
  }

  add(partition: number): { error?: LtsError | undefined; done: boolean } {
    const told: { error?: LtsError | undefined; done: boolean } = { done: false };
    this.pipeline.add(promote(partition), (_outcome, error) => Object.assign(told, { error, done: true }));
    return told;
  }
}

describe('CommitPipeline', () => {
  it('makes one commit of what came in one turn, under the epochs in order', async () => {
    const bench = new Bench();
    for (const partition of [1, 0, 1]) bench.add(partition);
    await settle();
    expect(bench.batches).toHaveLength(1);
    expect(bench.batches[0]?.epochs).toEqual([{ partition: 0, epoch: 5 }, { partition: 1, epoch: 7 }]);
    expect(bench.batches[0]?.transitions.map((each) => each.partition)).toEqual([1, 0, 1]);
  });

  it('gathers what comes while a commit runs', async () => {
    const bench = new Bench();
    bench.add(0);
    await settle();
    for (let i = 0; i < 10; i++) bench.add(0);
    await settle();
    expect(bench.batches).toHaveLength(1);
    bench.answers[0]?.();
    await settle();
    expect(bench.batches[1]?.transitions).toHaveLength(10);
  });

  it('sends the next commit before it tells the outcomes of the one before, whose effects are in the one after it', async () => {
    const bench = new Bench();
    const sizes: number[][] = [];
    bench.pipeline.add(promote(0), () => {
      sizes.push(bench.batches.map(({ transitions }) => transitions.length));
      bench.add(0);
    });
    await settle();
    for (let i = 0; i < 3; i++) bench.add(0);
    bench.answers[0]?.();
    await settle();
    expect(sizes).toEqual([[1, 3]]);
    bench.answers[1]?.();
    await settle();
    expect(bench.batches.map(({ transitions }) => transitions.length)).toEqual([1, 3, 1]);
  });

  it('bounds a commit', async () => {
    const bench = new Bench();
    for (let i = 0; i < 501; i++) bench.add(0);
    await settle();
    expect(bench.batches[0]?.transitions).toHaveLength(500);
  });

  it('tells a failed commit to each and goes on', async () => {
    const bench = new Bench();
    const first = bench.add(0);
    await settle();
    const second = bench.add(0);
    bench.answers[0]?.(new CommitFailed('DISK_LOW', 'the disk is full', true));
    await settle();
    expect(first.error?.reason).toBe('DISK_LOW');
    expect(bench.unknown).toEqual([]);
    expect(bench.rolledBack).toEqual(['DISK_LOW']);
    bench.answers[1]?.();
    await settle();
    expect(second).toEqual({ done: true, error: undefined });
  });

  it('asks for a reload when the outcome is unknown, and stores nothing under the old epoch afterwards', async () => {
    const bench = new Bench();
    bench.add(0);
    await settle();
    const behind = bench.add(0);
    const other = bench.add(1);
    bench.answers[0]?.(new Error('the thread died'));
    await settle();
    expect(bench.unknown).toEqual([[0]]);
    expect(behind.error).toMatchObject({ reason: 'NOT_OWNER', owner: 'there:1' });
    expect(bench.batches[1]?.transitions.map((each) => each.partition)).toEqual([1]);
    expect(other.done).toBe(false);
  });

  it('drops what is fenced and tells callers to follow the map', async () => {
    const bench = new Bench();
    const told = bench.add(0);
    await settle();
    bench.answers[0]?.(new CommitFailed('STALE_EPOCH', 'another owner', true));
    await settle();
    expect(bench.fenced).toEqual([[0]]);
    expect(told.error?.reason).toBe('NOT_OWNER');
  });

  it('goes on with the partitions that were not taken over, in their order and before what came later', async () => {
    const bench = new Bench();
    const [kept, lost, alsoKept] = [bench.add(1), bench.add(0), bench.add(1)];
    await settle();
    const later = bench.add(1);
    bench.stale = [0];
    bench.answers[0]?.(new CommitFailed('STALE_EPOCH', 'another owner', true));
    await settle();
    expect(bench.fenced).toEqual([[0]]);
    expect(lost.error?.reason).toBe('NOT_OWNER');
    expect(bench.batches[1]?.epochs).toEqual([{ partition: 1, epoch: 7 }]);
    bench.answers[1]?.();
    await settle();
    expect([kept, alsoKept]).toEqual([{ done: true, error: undefined }, { done: true, error: undefined }]);
    expect(later.done).toBe(false);
    expect(bench.batches.map(({ transitions }) => transitions.length)).toEqual([3, 2, 1]);
  });

  it('drops all of a fenced commit when the store does not tell which were taken over', async () => {
    const bench = new Bench();
    const told = [bench.add(0), bench.add(1)];
    await settle();
    bench.stale = new Error('away');
    bench.answers[0]?.(new CommitFailed('STALE_EPOCH', 'another owner', true));
    await settle();
    expect(bench.fenced).toEqual([[0, 1]]);
    expect(told.map(({ error }) => error?.reason)).toEqual(['NOT_OWNER', 'NOT_OWNER']);
  });

  it('tells when all that was given before is settled, while more comes in', async () => {
    const bench = new Bench();
    bench.add(0);
    await settle();
    bench.add(0);
    let passed = false;
    void bench.pipeline.barrier().then(() => (passed = true));
    const later = bench.add(0);
    bench.answers[0]?.();
    await settle();
    expect(passed).toBe(false);
    bench.add(0);
    bench.answers[1]?.();
    await settle();
    expect(passed).toBe(true);
    expect(later.done).toBe(true);
    expect(bench.batches).toHaveLength(3);
  });

  it('lets the groups take turns: one is not behind the flood of another', async () => {
    const bench = new Bench();
    const order: string[] = [];
    const add = (nodeGroup: string, taskId: string, partition = 0): void => {
      bench.pipeline.add({ kind: 'cancel', partition, nodeGroup, taskId, at: 0 }, () => order.push(`${nodeGroup} ${taskId}`));
    };
    for (let i = 0; i < 20_000; i++) add('flood', `${i}`);
    await settle();
    for (let i = 0; i < 20_000; i++) add('flood', `${20_000 + i}`);
    add('small', 'first', 1);
    add('small', 'second', 1);
    bench.answers[0]?.();
    await settle();
    // Its turn comes with the next commit, whatever waited before.
    expect(bench.batches[1]?.transitions.filter((each) => 'nodeGroup' in each && each.nodeGroup === 'small')).toMatchObject([{ taskId: 'first' }, { taskId: 'second' }]);
    expect(bench.batches[1]?.transitions).toHaveLength(500);
    for (let commit = 1; bench.pipeline.depth > 0 || order.length < 40_002; commit++) {
      bench.answers[commit]?.();
      await settle();
    }
    expect(order.filter((each) => each.startsWith('flood'))).toEqual(Array.from({ length: 40_000 }, (_, i) => `flood ${i}`));
    expect(bench.batches).toHaveLength(81);
  });

  it('has a group in within as many commits as groups wait, when each brings a commit full of bytes', async () => {
    const bench = new Bench();
    const mib = 1024 * 1024;
    const full = (nodeGroup: string): void => bench.pipeline.add({ kind: 'cancel', partition: 0, nodeGroup, taskId: 't', at: 0 }, () => undefined, 3 * mib);
    for (let i = 0; i < 100; i++) for (const nodeGroup of ['a', 'b', 'c']) full(nodeGroup);
    await settle();
    full('small');
    const groups = (): string[] => bench.batches.flatMap(({ transitions }) => transitions.map((each) => ('nodeGroup' in each ? each.nodeGroup : '')));
    for (let commit = 0; commit < 4; commit++) {
      bench.answers[commit]?.();
      await settle();
    }
    expect(groups().slice(1, 5).toSorted()).toEqual(['a', 'b', 'c', 'small']);
  });

  it('knows who crowds it, and waits at a barrier for what came before only', async () => {
    const bench = new Bench();
    const add = (nodeGroup: string): void => bench.pipeline.add({ kind: 'cancel', partition: 0, nodeGroup, taskId: 't', at: 0 }, () => undefined);
    for (let i = 0; i < 1_500; i++) add('flood');
    for (let i = 0; i < 10; i++) add('small');
    expect([bench.pipeline.isCrowdedBy('flood'), bench.pipeline.isCrowdedBy('small'), bench.pipeline.isCrowdedBy('other')]).toEqual([true, false, false]);
    let passed = false;
    void bench.pipeline.barrier().then(() => (passed = true));
    for (let i = 0; i < 2_500; i++) add('later');
    await settle();
    for (let commit = 0; commit < 9; commit++) {
      expect({ commit, passed }).toEqual({ commit, passed: commit > 5 });
      bench.answers[commit]?.();
      await settle();
    }
    expect(bench.pipeline.depth).toBe(0);
  });

  it('tells why nothing is stored, until something is', async () => {
    const bench = new Bench();
    expect(bench.pipeline.trouble).toBeUndefined();
    bench.add(0);
    await settle();
    bench.answers.shift()?.(new CommitFailed('DISK_LOW', 'the disk is full', true));
    await settle();
    expect(bench.pipeline.trouble?.message).toBe('the disk is full');
    bench.add(0);
    await settle();
    bench.answers.shift()?.();
    await settle();
    expect(bench.pipeline.trouble).toBeUndefined();
  });

  it('tells a refused change alone, and takes no partition again for it', async () => {
    const bench = new Bench();
    const [first, second] = [bench.add(0), bench.add(0)];
    await settle();
    bench.answers.shift()?.(undefined, [{ kind: 'refused', message: 'no finish' }, { kind: 'promote', ready: [], nextDueAt: undefined }]);
    await settle();
    expect([first.error?.message, second.error, first.done && second.done]).toEqual(['no finish', undefined, true]);
    expect([bench.unknown, bench.rolledBack]).toEqual([[], ['STORE_FAILED']]);
  });
});
