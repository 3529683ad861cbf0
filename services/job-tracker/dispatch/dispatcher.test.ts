import { describe, expect, it } from 'vitest';
import { LtsError } from '../../../shared/errors/lts-error.js';
import { settle, VirtualClock } from '../../../test/kit/virtual-clock.js';
import { CommitPipeline } from '../queue/commit-pipeline.js';
import { type Execution, OwnedGroups } from '../queue/owned-groups.js';
import type { CommitBatch, GroupLimits, Outcome, QueueStore, ReadyRow } from '../queue/queue-store.js';
import { Dispatcher } from './dispatcher.js';
import { GroupWorkers } from './group-workers.js';
import type { Worker } from './worker.js';
import type { WorkerSession } from './worker-session.js';
import type { WorkerDirectory } from './worker-directory.js';

const policy = { maxRetryTimes: 0, timeoutMs: 0, maxLost: 3, failOnLoss: false };
const row = (seq: number): ReadyRow => ({ seq, id: `i${seq}`, type: 'default', priority: 100, dueAt: 0, scheduledAt: 0, attempts: 0, retryTimes: 0, lostTimes: 0, policy, job: Buffer.alloc(0) });

/** A dispatcher with one worker of endless slots on a store that takes everything. */
class Bench {
  readonly clock = new VirtualClock();
  readonly groups = new OwnedGroups(1_000);
  readonly started: number[] = [];
  readonly refused = new Set<number>();
  readonly sent: string[] = [];
  /** What the store has, and memory reads. */
  readonly stored: ReadyRow[] = [];
  looks = 0;
  readonly dispatcher: Dispatcher;

  constructor(limits: GroupLimits) {
    const store = { commit: (batch: CommitBatch) => Promise.resolve(batch.transitions.map((each) => this.#start('seq' in each ? each.seq : 0))), readReady: this.#readReady } as unknown as QueueStore;
    const nothing = (): void => undefined;
    const pipeline = new CommitPipeline(store, { epochOf: () => 1, notOwning: () => new LtsError('NOT_OWNER', ''), onUnknown: nothing, onFenced: nothing, onRolledBack: nothing, onCommitted: nothing }, this.clock);
    const session = { closed: false, credits: 1_000, reserve: nothing, unreserve: nothing, task: ({ instance_id }: { instance_id: string }) => this.sent.push(instance_id) };
    const worker = { identity: { nodeId: 'w', incarnation: 'i' }, types: new Set(), session, confirmed: true, credits: 1_000, executions: new Set(), resend: [] } as unknown as Worker;
    const workers = new GroupWorkers();
    workers.add(worker);
    const directory = { ofGroup: () => (this.looks++, workers), touched: nothing, notSent: nothing } as unknown as WorkerDirectory;
    this.dispatcher = new Dispatcher(this.groups, directory, pipeline, store, this.clock);
    this.groups.adopt({ partition: 0, epoch: 1 }, { groups: [{ nodeGroup: 'g', waiting: 0, ready: 0, limits }], executing: [], nextDueAt: undefined, schedules: { guarded: [], resting: [], left: [] } });
  }

  readonly #readReady = (_group: string, after: { seq: number } | undefined, limit: number): Promise<ReadyRow[]> =>
    Promise.resolve(this.stored.filter(({ seq }) => seq > (after?.seq ?? 0) && !this.started.includes(seq)).slice(0, limit));

  #start(seq: number): Outcome {
    const started = !this.refused.has(seq);
    if (started) this.started.push(seq);
    return { kind: 'start', started };
  }

  get group(): ReturnType<OwnedGroups['group']> {
    return this.groups.group('g', 0);
  }

  async ready(count: number): Promise<void> {
    for (let seq = 1; seq <= count; seq++) this.group.ready.insert(row(seq));
    this.group.readyCount = count;
    this.dispatcher.dispatch(this.group);
    await settle();
  }
}

describe('Dispatcher with limits', () => {
  it('starts no more at once than max_running, and goes on when one has ended', async () => {
    const bench = new Bench({ maxRunning: 3 });
    await bench.ready(10);
    expect(bench.started).toEqual([1, 2, 3]);
    bench.group.executing--;
    bench.dispatcher.dispatch(bench.group);
    await settle();
    expect(bench.started).toEqual([1, 2, 3, 4]);
  });

  it('gives the place of one that was not ready any more to the next', async () => {
    const bench = new Bench({ maxRunning: 2 });
    bench.refused.add(1);
    await bench.ready(5);
    expect(bench.started).toEqual([2, 3]);
  });

  it('starts by the rate, and sleeps until the next one', async () => {
    const bench = new Bench({ startsPerSecond: 2 });
    await bench.ready(10);
    expect(bench.started).toEqual([]);
    await bench.clock.advance(10_000);
    expect(bench.started).toHaveLength(10);
    expect(bench.looks).toBeLessThan(40);
  });

  it('keeps what has gathered of its rate when another limit is set', async () => {
    const bench = new Bench({ startsPerSecond: 2 });
    await bench.ready(10);
    for (let change = 0; change < 20; change++) {
      await bench.clock.advance(250);
      bench.groups.limit(bench.group, { startsPerSecond: 2, backlog: 100 + change });
      bench.dispatcher.dispatch(bench.group);
      await settle();
    }
    expect(bench.started.length).toBeGreaterThanOrEqual(8);
  });

  it('looks again at once when the limit is lifted while it sleeps', async () => {
    const bench = new Bench({ startsPerSecond: 0.001 });
    await bench.ready(3);
    await bench.clock.advance(5_000);
    expect(bench.started).toEqual([]);
    bench.groups.limit(bench.group, { startsPerSecond: 100 });
    bench.dispatcher.dispatch(bench.group);
    await bench.clock.advance(100);
    expect(bench.started).toHaveLength(3);
  });

  it('hands nothing out with its admission beyond a limit', async () => {
    const bench = new Bench({ maxRunning: 2 });
    expect(bench.dispatcher.reserve(bench.group, 'default', 1)).toBeDefined();
    expect(bench.dispatcher.reserve(bench.group, 'default', 1)).toBeDefined();
    expect(bench.dispatcher.reserve(bench.group, 'default', 1)).toBeUndefined();
    bench.group.gate.end(false);
    expect(bench.dispatcher.reserve(bench.group, 'default', 1)).toBeDefined();
    expect(new Bench({ startsPerSecond: 5 }).dispatcher.reserve(bench.group, 'default', 1)).toBeUndefined();
  });

  it('keeps few rows of a limited group in memory', async () => {
    const bench = new Bench({ maxRunning: 1 });
    await bench.ready(500);
    expect(bench.group.ready.size).toBeLessThanOrEqual(64);
    expect(bench.group.ready.whole).toBe(false);
  });
});

describe('Dispatcher', () => {
  it('sends nothing whose attempt is not stored', async () => {
    const bench = new Bench({});
    for (const seq of [1, 2]) bench.group.ready.insert(row(seq));
    bench.group.readyCount = 2;
    bench.refused.add(2);
    bench.dispatcher.dispatch(bench.group);
    expect(bench.sent).toEqual([]);
    await settle();
    expect(bench.sent).toEqual(['i1']);
  });
});

describe('Dispatcher of workers that run some types only', () => {
  it('finds their jobs behind thousands whose workers are busy', async () => {
    const groups = new OwnedGroups(1_000);
    groups.adopt({ partition: 0, epoch: 1 }, { groups: [{ nodeGroup: 'g', waiting: 0, ready: 5_001 }], executing: [], nextDueAt: undefined, schedules: { guarded: [], resting: [], left: [] } });
    const group = groups.group('g', 0);
    const stored = Array.from({ length: 5_001 }, (_, i) => ({ ...row(i + 1), type: i === 5_000 ? 'mail' : 'slow' }));
    const started: number[] = [];
    const store = {
      commit: ({ transitions }: CommitBatch) => Promise.resolve(transitions.map((each) => (started.push('seq' in each ? each.seq : 0), { kind: 'start', started: true }))),
      readReady: (_: string, after: { seq: number } | undefined, limit: number) => Promise.resolve(stored.slice(after?.seq ?? 0, (after?.seq ?? 0) + limit)),
    } as unknown as QueueStore;
    const nothing = (): void => undefined;
    const clock = new VirtualClock();
    const pipeline = new CommitPipeline(store, { epochOf: () => 1, notOwning: () => new LtsError('NOT_OWNER', ''), onUnknown: nothing, onFenced: nothing, onRolledBack: nothing, onCommitted: nothing }, clock);
    const workers = new GroupWorkers();
    const worker = (types: string[], credits: number): Worker => {
      const session = { closed: false, credits, reserve: nothing, unreserve: nothing, task: nothing };
      return { identity: { nodeId: 'w', incarnation: types.join() }, types: new Set(types), session, confirmed: true, available: true, credits, executions: new Set(), resend: [], runs: (type: string) => types.length === 0 || types.includes(type) } as unknown as Worker;
    };
    workers.add(worker([], 0));
    workers.add(worker(['mail'], 1));
    const dispatcher = new Dispatcher(groups, { ofGroup: () => workers, touched: nothing, notSent: nothing } as unknown as WorkerDirectory, pipeline, store, clock);
    dispatcher.dispatch(group);
    for (let i = 0; i < 50 && started.length === 0; i++) {
      await settle();
      await clock.advance(10);
    }
    expect(started).toEqual([5_001]);
  });
});

describe('Dispatcher of a group with a halted task', () => {
  const of = (taskId: string, seq: number): ReadyRow => ({ ...row(seq), taskId });

  it('starts all but what is of that task, whether it is read or becomes ready, and that as well when the halt is over', async () => {
    const bench = new Bench({});
    bench.stored.push(of('halted', 1), of('other', 2), of('halted', 3));
    bench.group.readyCount = 3;
    bench.groups.halt('g', 'halted');
    bench.dispatcher.dispatch(bench.group);
    await settle();
    expect(bench.started).toEqual([2]);
    for (const each of [of('other', 4), of('halted', 5)]) {
      bench.stored.push(each);
      bench.dispatcher.enter({ ...row(each.seq), nodeGroup: 'g' });
    }
    await settle();
    expect(bench.started).toEqual([2, 4]);
    bench.groups.goOn('g', 'halted');
    bench.dispatcher.dispatch(bench.group);
    await settle();
    expect(bench.started).toEqual([2, 4, 1, 3, 5]);
  });

  it('keeps one row of what a read has brought as well', async () => {
    const bench = new Bench({ maxRunning: 1 });
    bench.group.executing = 1;
    bench.groups.halt('g', 'halted');
    bench.stored.push(of('other', 1));
    bench.dispatcher.dispatch(bench.group);
    bench.dispatcher.enter({ ...row(1), nodeGroup: 'g' });
    await settle();
    expect(bench.group.ready.size).toBe(1);
  });
});

describe('Dispatcher whose partition is taken again', () => {
  it('leaves an attempt that was on its way into the store to the load that has found it', async () => {
    const bench = new Bench({});
    bench.group.ready.insert(row(1));
    bench.group.readyCount = 1;
    bench.dispatcher.dispatch(bench.group);
    bench.groups.adopt({ partition: 0, epoch: 2 }, { groups: [{ nodeGroup: 'g', waiting: 0, ready: 0 }], executing: [], nextDueAt: undefined, schedules: { guarded: [], resting: [], left: [] } });
    await settle();
    expect([bench.started, bench.sent, bench.group.executing, bench.groups.executions.size]).toEqual([[1], [], 0, 0]);
  });
});

describe('Dispatcher that sends again', () => {
  const job = Buffer.from('job');

  /** A worker that has lost an attempt, and a store that answers when it is told to. */
  function bench() {
    const clock = new VirtualClock();
    const groups = new OwnedGroups(1_000);
    const answers: (() => void)[] = [];
    const store = {
      commit: ({ transitions }: CommitBatch) => new Promise<Outcome[]>((resolve) => answers.push(() => resolve(transitions.map(() => ({ kind: 'reassign', applied: true, job }))))),
    } as unknown as QueueStore;
    const nothing = (): void => undefined;
    const pipeline = new CommitPipeline(store, { epochOf: () => 1, notOwning: () => new LtsError('NOT_OWNER', ''), onUnknown: nothing, onFenced: nothing, onRolledBack: nothing, onCommitted: nothing }, clock);
    const sent: string[] = [];
    const unsent: string[] = [];
    const session = (name: string): WorkerSession => ({ closed: false, credits: 10, reserve: nothing, unreserve: nothing, task: ({ instance_id }: { instance_id: string }) => sent.push(`${instance_id} by ${name}`) }) as unknown as WorkerSession;
    const execution = { id: 'i1', seq: 1, nodeGroup: 'g', partition: 0, attempt: 1, finishing: false, resending: false } as unknown as Execution;
    const worker = { identity: { nodeId: 'w', incarnation: 'i' }, types: new Set(), session: session('first'), confirmed: true, ownCredits: 10, executions: new Set([execution]), resend: [execution] } as unknown as Worker;
    const workers = new GroupWorkers();
    workers.add(worker);
    const directory = { ofGroup: () => workers, touched: nothing, notSent: () => (unsent.push(execution.id), worker.resend.push(execution)) } as unknown as WorkerDirectory;
    const dispatcher = new Dispatcher(groups, directory, pipeline, store, clock);
    groups.adopt({ partition: 0, epoch: 1 }, { groups: [{ nodeGroup: 'g', waiting: 0, ready: 0 }], executing: [], nextDueAt: undefined, schedules: { guarded: [], resting: [], left: [] } });
    const dispatch = (): void => dispatcher.dispatch(groups.group('g', 0));
    const answer = async (): Promise<void> => {
      answers.shift()?.();
      await settle();
    };
    return { worker, execution, sent, unsent, session, dispatch, answer };
  }

  it('sends an attempt once, although the worker comes back and lacks it again while that is stored', async () => {
    const { worker, execution, sent, session, dispatch, answer } = bench();
    dispatch();
    await settle();
    worker.session = session('second');
    worker.resend = [execution];
    dispatch();
    await answer();
    dispatch();
    await answer();
    await answer();
    expect(sent).toEqual(['i1 by second']);
  });

  it('does not send what is cancelled while that is stored', async () => {
    const { execution, sent, dispatch, answer, unsent } = bench();
    dispatch();
    await settle();
    execution.cancelling = true;
    await answer();
    expect([sent, unsent]).toEqual([[], ['i1']]);
  });
});
