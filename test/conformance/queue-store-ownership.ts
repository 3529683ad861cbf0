import { expect, it } from 'vitest';
import { CommitFailed } from '../../services/job-tracker/queue/queue-store.js';
import { admit, OpenStore, owner, start, t0, type StoreBench, worker } from './queue-store-bench.js';

/** Identity, epochs and what a new owner finds. */
export function ownership(bench: () => StoreBench): void {
  it('has an identity that stays', async () => {
    const first = bench().connect();
    const identity = await first.open();
    expect(identity).toEqual({ storeId: expect.stringMatching(/^[0-9a-f-]{36}$/), cluster: 'test', partitions: 4 });
    await first.close();
    expect(await bench().connect().open()).toEqual(identity);
  });

  it('refuses another cluster, naming both', async () => {
    await bench().connect().open();
    await expect(bench().connect({ cluster: 'other' }).open()).rejects.toMatchObject({
      reason: 'STORE_FOREIGN',
      message: expect.stringMatching(/"test".*"other"/),
    });
  });

  it('refuses another number of partitions, naming both', async () => {
    await bench().connect().open();
    await expect(bench().connect({ partitions: 5 }).open()).rejects.toMatchObject({ reason: 'CONFIG_INVALID', message: expect.stringMatching(/4.*5/) });
  });

  it('raises the epoch with every take, for each partition on its own', async () => {
    const store = bench().connect();
    await store.open();
    expect(await store.take([0, 1], owner)).toEqual([
      { partition: 0, epoch: 1 },
      { partition: 1, epoch: 1 },
    ]);
    expect(await store.take([1, 2], owner)).toEqual([
      { partition: 1, epoch: 2 },
      { partition: 2, epoch: 1 },
    ]);
  });

  it('tells who holds what: nobody before the first take and after a release', async () => {
    const open = await OpenStore.of(bench().connect());
    await open.store.release(open.held.filter(({ partition }) => partition === 1));
    const owners = await open.store.owners();
    expect(owners.map(({ partition, nodeId, incarnation }) => [partition, nodeId, incarnation])).toEqual([
      [0, owner.nodeId, owner.incarnation],
      [1, '', ''],
      [2, owner.nodeId, owner.incarnation],
      [3, owner.nodeId, owner.incarnation],
    ]);
    expect(owners[0]?.epoch).toBe(1);
  });

  it('refuses to take a partition that is not there', async () => {
    const store = bench().connect();
    await store.open();
    await expect(store.take([0, 4], owner)).rejects.toMatchObject({ reason: 'CONFIG_INVALID' });
    expect(await store.take([0], owner)).toEqual([{ partition: 0, epoch: 1 }]);
  });

  it('fences a commit whose epoch is not current, all of it', async () => {
    const old = await OpenStore.of(bench().connect());
    const young = bench().connect();
    await young.open();
    await young.take([1], owner);
    const [first, second] = [admit(), admit({ partition: 1, nodeGroup: 'group-1' })];
    const failed = await old.commit([first, second]).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(CommitFailed);
    expect(failed).toMatchObject({ reason: 'STALE_EPOCH', rolledBack: true });
    expect(await old.stateOf(first.id)).toBeUndefined();
    expect(await old.one(first)).toMatchObject({ result: 'accepted' });
  });

  it('refuses a transition for whose partition no epoch is brought', async () => {
    const { store, held } = await OpenStore.of(bench().connect());
    const epochs = held.filter(({ partition }) => partition === 0);
    const job = admit({ partition: 1, nodeGroup: 'group-1' });
    await expect(store.commit({ epochs, transitions: [admit(), job] })).rejects.toMatchObject({ rolledBack: true });
    expect(await store.findInstance({ id: job.id })).toBeUndefined();
  });

  it('changes no instance of a partition other than the one that is named', async () => {
    const open = await OpenStore.of(bench().connect());
    const seq = await open.admitted({ partition: 1, nodeGroup: 'group-1' });
    expect(await open.one(start(seq, { partition: 0 }))).toEqual({ kind: 'start', started: false });
    expect(await open.one(start(seq, { partition: 1 }))).toMatchObject({ started: true });
  });

  it('tells which held epochs are fenced', async () => {
    const { store, held } = await OpenStore.of(bench().connect());
    expect(await store.fenced(held)).toEqual([]);
    await store.take([2], owner);
    expect(await store.fenced(held)).toEqual([2]);
  });

  it('lets go on release, after which the old epoch commits nothing; a higher epoch is left alone', async () => {
    const open = await OpenStore.of(bench().connect());
    const [taken] = await open.store.take([3], owner);
    await open.store.release(open.held);
    await expect(open.one(admit())).rejects.toMatchObject({ reason: 'STALE_EPOCH', rolledBack: true });
    expect(await open.store.fenced([taken ?? { partition: 3, epoch: 0 }])).toEqual([]);
    const again = await open.store.take([0], owner);
    expect(again[0]?.epoch).toBeGreaterThan(1);
  });

  it('gives a new owner what lives, and nothing of other partitions', async () => {
    const open = await OpenStore.of(bench().connect());
    const policy = { maxRetryTimes: 2, timeoutMs: 5_000, maxLost: 1, failOnLoss: true, retry: { law: 'LIST' as const, delays: [1, 2] } };
    const running = await open.running({ taskId: 'running', type: 'mail', policy, dueAt: t0 - 5 });
    await open.admitted({ taskId: 'running' });
    await open.admitted({ taskId: 'ready' });
    await open.admitted({ taskId: 'late', dueAt: t0 + 200 });
    await open.admitted({ taskId: 'soon', dueAt: t0 + 100 });
    await open.admitted({ nodeGroup: 'second', taskId: 'ready' });
    await open.admitted({ partition: 1, nodeGroup: 'elsewhere', dueAt: t0 + 50 });
    expect(await open.store.load(0)).toEqual({
      groups: [
        { nodeGroup: 'group', waiting: 3, ready: 1 },
        { nodeGroup: 'second', waiting: 0, ready: 1 },
      ],
      executing: [
        {
          seq: running,
          id: expect.any(String),
          nodeGroup: 'group',
          taskId: 'running',
          type: 'mail',
          priority: 100,
          dueAt: t0 - 5,
          scheduledAt: t0 - 5,
          attempt: 1,
          fence: 1,
          worker: { nodeId: 'worker-1', incarnation: 'worker-incarnation-1' },
          assignedAt: t0,
          cancelling: false,
          retryTimes: 0,
          lostTimes: 0,
          policy,
        },
      ],
      nextDueAt: t0 + 100,
      schedules: { guarded: [], resting: [], left: [] },
    });
    expect(await open.store.load(2)).toEqual({ groups: [], executing: [], nextDueAt: undefined, schedules: { guarded: [], resting: [], left: [] } });
  });

  it('keeps everything when it is closed and opened again', async () => {
    const first = await OpenStore.of(bench().connect());
    await first.running({ taskId: 'running' });
    await first.admitted({ taskId: 'ready' });
    const before = await first.store.load(0);
    await first.store.close();
    const second = await OpenStore.of(bench().connect());
    expect(await second.store.load(0)).toEqual(before);
    expect(second.held[0]?.epoch).toBe(2);
  });

  it('is CLOSED after close, and refuses work', async () => {
    const open = await OpenStore.of(bench().connect());
    expect(await open.store.health()).toMatchObject({ state: 'OK', message: '' });
    await open.store.close();
    await open.store.close();
    expect(await open.store.health()).toMatchObject({ state: 'CLOSED' });
    await expect(open.one(admit())).rejects.toBeInstanceOf(CommitFailed);
    await expect(open.store.findInstance({ id: admit().id })).rejects.toMatchObject({ reason: 'STORE_FAILED' });
  });

  it('settles calls in their order', async () => {
    const open = await OpenStore.of(bench().connect());
    const order: string[] = [];
    const note = (what: string) => () => order.push(what);
    const read: number[] = [];
    await Promise.all([
      open.commit(Array.from({ length: 500 }, (_, i) => admit({ taskId: `t${i}` }))).then(note('first')),
      open.store.readReady('group', undefined, 1_000).then((rows) => read.push(rows.length)).then(note('read')),
      open.commit([admit({ taskId: 'last' })]).then(note('second')),
      open.store.readReady('group', undefined, 1_000).then((rows) => read.push(rows.length)),
    ]);
    expect(order).toEqual(['first', 'read', 'second']);
    expect(read).toEqual([500, 501]);
  });

  it('reads what an owner compares with its memory in the order of its commits', async () => {
    const open = await OpenStore.of(bench().connect());
    const order: string[] = [];
    const note = (what: string) => (): number => order.push(what);
    const [, executing, counts, due] = await Promise.all([
      open.commit([admit({ taskId: 'a', start: { worker, fence: 1 } }), admit({ taskId: 'a' }), admit({ taskId: 'b' }), admit({ taskId: 'c', dueAt: t0 + 9 })]).finally(note('commit')),
      open.store.readExecuting(0, 0, 10).finally(note('executing')),
      open.store.recount('group', 10).finally(note('counts')),
      open.store.nextDue(0).finally(note('due')),
      open.commit([admit({ taskId: 'd', dueAt: t0 + 1 }), admit({ taskId: 'e' })]).finally(note('later')),
    ]);
    expect(order).toEqual(['commit', 'executing', 'counts', 'due', 'later']);
    expect(executing.map(({ taskId }) => taskId)).toEqual(['a']);
    expect(counts).toEqual({ waiting: 2, ready: 1 });
    expect(due).toBe(t0 + 9);
  });

  it('reads executing rows page by page, of one partition', async () => {
    const open = await OpenStore.of(bench().connect());
    const mine = [await open.running({ taskId: 'a' }), await open.running({ taskId: 'b' }), await open.running({ taskId: 'c' })];
    await open.running({ partition: 1, nodeGroup: 'group-1' });
    const first = await open.store.readExecuting(0, 0, 2);
    expect(first).toEqual((await open.store.load(0)).executing.slice(0, 2));
    expect((await open.store.readExecuting(0, first.at(-1)?.seq ?? 0, 2)).map(({ seq }) => seq)).toEqual(mine.slice(2));
    expect(await open.store.readExecuting(2, 0, 2)).toEqual([]);
  });

  it('counts no more rows than it may', async () => {
    const open = await OpenStore.of(bench().connect());
    await open.commit([1, 2, 3].map((i) => admit({ taskId: `ready-${i}` })));
    await open.commit([1, 2].map((i) => admit({ taskId: `waiting-${i}`, dueAt: t0 + i })));
    await open.commit([1, 2].map((i) => admit({ taskId: `other-${i}`, nodeGroup: 'other', dueAt: t0 + i })));
    expect(await open.store.recount('group', 4)).toEqual({ waiting: 2, ready: 3 });
    expect(await open.store.recount('group', 2)).toEqual({ waiting: undefined, ready: undefined });
    expect(await open.store.recount('other', 4)).toEqual({ waiting: 2, ready: 0 });
    expect(await open.store.recount('nobody', 4)).toEqual({ waiting: 0, ready: 0 });
    expect(await open.store.nextDue(0)).toBe(t0 + 1);
    expect(await open.store.nextDue(1)).toBeUndefined();
  });
}
