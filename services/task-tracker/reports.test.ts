import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { openFailStore } from '../../shared/failstore/fail-store.js';
import { newId } from '../../shared/ids.js';
import { silentLogger } from '../../shared/log/logger.js';
import { eventually } from '../../test/kit/eventually.js';
import { type FakeJobTracker, taskOf } from '../../test/kit/fake-job-tracker.js';
import { cleanUp, fakeTracker, folder, gate, startWorker } from '../../test/kit/worker.js';

afterEach(cleanUp);

/** Restarts the tracker on its port, as a new process would be. */
async function restart(tracker: FakeJobTracker): Promise<void> {
  const port = Number(tracker.address.split(':')[1]);
  const before = tracker.sessions.length;
  tracker.stop();
  await eventually(() => tracker.start(port).then(() => true));
  await eventually(() => tracker.sessions.length > before && tracker.session.granted > 0);
}

/** What lies in the FailStore of the node, by kind, from a process that has ended. */
function stored(dataDir: string, nodeId: string): { kind: string; incarnation: string }[] {
  const store = openFailStore({ dir: join(dataDir, 'task-tracker', 'g'), nodeId, incarnation: newId(), maxBytes: 1e8, log: silentLogger });
  try {
    return store.pending(0, 10_000);
  } finally {
    store.close();
  }
}

describe('results', () => {
  it('are kept until acked, and sent again on a new stream', async () => {
    const tracker = await fakeTracker({ acksResults: false });
    const held = gate();
    await startWorker(tracker, { default: held.runner, quick: () => 'q' });
    const [long, quick] = [taskOf({}), taskOf({ type: 'quick' })];
    tracker.session.tasks([long, quick]);
    await eventually(() => tracker.results.length === 1);
    await restart(tracker);
    const { session } = tracker;
    expect(session.inventory).toContainEqual({ instance_id: long.instance_id, attempt: 1, finished: false });
    expect(session.inventory).toContainEqual({ instance_id: quick.instance_id, attempt: 1, finished: true });
    expect(session.results).toMatchObject([{ instance_id: quick.instance_id, message: 'q' }]);
    // The run went on all the time and occupies its slot.
    expect(session.granted).toBe(3);
    tracker.options.acksResults = true;
    held.open();
    await eventually(() => session.results.length === 2);
    await restart(tracker);
    await eventually(() => tracker.session.inventory?.length === 1);
    expect(tracker.session.inventory?.[0]?.instance_id).toBe(quick.instance_id);
  });

  it('that are refused for now come again, those refused for good do not', async () => {
    const answers = ['REFUSAL_REASON_LOADING', 'REFUSAL_REASON_NOT_OWNER', 'REFUSAL_REASON_STALE'] as const;
    let asked = 0;
    const tracker = await fakeTracker({ refuse: () => answers[asked++] });
    await startWorker(tracker, () => 'r');
    tracker.session.tasks([taskOf({})]);
    await eventually(() => tracker.results.length === 3);
    tracker.session.tasks([taskOf({})]);
    await eventually(() => tracker.results.length === 4);
    expect(new Set(tracker.results.slice(0, 3).map((result) => result.instance_id)).size).toBe(1);
    await restart(tracker);
    expect(tracker.session.inventory).toEqual([]);
  });

  it('go to the FailStore when unacked for a second, and a new incarnation delivers them before it takes work', async () => {
    const dataDir = folder();
    const tracker = await fakeTracker({ acksResults: false });
    const first = await startWorker(tracker, () => 'mine', { dataDir, nodeId: 'n1' });
    const task = taskOf({});
    tracker.session.tasks([task]);
    await eventually(() => tracker.results.length === 1);
    await first.drain(0);
    expect(tracker.session.goodbye).toBe(false);
    tracker.options.acksResults = true;
    const second = await startWorker(tracker, () => 'other', { dataDir, nodeId: 'n1' });
    const { session } = tracker;
    expect(session.hello?.predecessors).toEqual([first.incarnation]);
    expect(session.inventory).toEqual([{ instance_id: task.instance_id, attempt: 1, finished: true }]);
    expect(session.results).toMatchObject([{ instance_id: task.instance_id, incarnation: first.incarnation, message: 'mine' }]);
    expect(session.order.indexOf('results')).toBeLessThan(session.order.indexOf('slots'));
    await second.drain(0);
    expect(session.goodbye).toBe(true);
    expect(stored(dataDir, 'n1')).toEqual([]);
  });

  it('lie in the FailStore after a second without an ack', async () => {
    const dataDir = folder();
    const tracker = await fakeTracker({ acksResults: false });
    const lines: unknown[] = [];
    const log = { ...silentLogger, info: (event: string, fields?: object) => void lines.push({ event, ...fields }) };
    await startWorker(tracker, () => 'kept', { dataDir, nodeId: 'n1', log });
    tracker.session.tasks([taskOf({})]);
    await eventually(() => lines.some((line) => (line as { event: string }).event === 'failstore.stored'), { withinMs: 3_000 });
    expect(lines).toContainEqual({ event: 'failstore.stored', kind: 'result', count: 1 });
  });

  it('of many finished attempts come in chunks of 1,000 with an end mark', async () => {
    const dataDir = folder();
    const tracker = await fakeTracker({ acksResults: false });
    const first = await startWorker(tracker, () => undefined, { dataDir, nodeId: 'n1', workThreads: 2_500 });
    tracker.session.tasks(Array.from({ length: 2_500 }, () => taskOf({})));
    await eventually(() => tracker.results.length === 2_500);
    await first.drain(0);
    await startWorker(tracker, () => undefined, { dataDir, nodeId: 'n1' });
    expect(tracker.session.inventoryChunks).toEqual([1_000, 1_000, 500]);
    await eventually(() => tracker.session.results.length === 2_500);
  });
});

describe('log lines', () => {
  it('reach the tracker by instance and attempt, before the result', async () => {
    const tracker = await fakeTracker();
    await startWorker(tracker, ({ log }) => {
      log.info('one');
      log.error('two\0');
    });
    const task = taskOf({}, { attempt: 3 });
    tracker.session.tasks([task]);
    await eventually(() => tracker.session.lines.length === 2);
    expect(tracker.session.lines).toMatchObject([
      { instance_id: task.instance_id, attempt: 3, level: 'LOG_LEVEL_INFO', text: 'one', truncated: false },
      { instance_id: task.instance_id, attempt: 3, level: 'LOG_LEVEL_ERROR', text: 'two\ufffd' },
    ]);
  });

  it('are capped per run, the loss is marked', async () => {
    const tracker = await fakeTracker();
    await startWorker(tracker, ({ log }) => {
      log.info('é'.repeat(100_000));
      for (let i = 0; i < 3_000; i++) log.info(`line ${i}`);
    });
    tracker.session.tasks([taskOf({})]);
    await eventually(() => tracker.session.lines.length === 1_001);
    const { lines } = tracker.session;
    expect(Buffer.byteLength(lines[0]?.text ?? '')).toBeLessThanOrEqual(65_536);
    expect(lines[0]).toMatchObject({ truncated: true, text: expect.stringMatching(/é… \[truncated\]$/) });
    expect(lines[1_000]).toMatchObject({ truncated: true, text: expect.stringContaining('more lines were dropped') });
  });

  it('that were not acked come again on a new stream and with a new incarnation', async () => {
    const dataDir = folder();
    const tracker = await fakeTracker({ acksLogs: false });
    const first = await startWorker(tracker, ({ log }) => log.info('kept'), { dataDir, nodeId: 'n1' });
    tracker.session.tasks([taskOf({})]);
    await eventually(() => tracker.session.lines.length === 1);
    await restart(tracker);
    await eventually(() => tracker.session.lines.length === 1);
    await first.drain(0);
    expect(stored(dataDir, 'n1').map(({ kind }) => kind)).toEqual(['lines']);
    tracker.options.acksLogs = true;
    const second = await startWorker(tracker, () => undefined, { dataDir, nodeId: 'n1' });
    await eventually(() => tracker.session.lines.length === 1);
    await second.drain(0);
    expect(stored(dataDir, 'n1')).toEqual([]);
  });
});

describe('progress', () => {
  it('is told by its newest value', async () => {
    const tracker = await fakeTracker();
    const held = gate();
    await startWorker(tracker, async (context) => {
      for (let i = 0; i <= 500; i++) context.progress(i / 1_000, `step ${i}`);
      await held.runner(context);
    });
    const task = taskOf({});
    tracker.session.tasks([task]);
    await eventually(() => tracker.session.progress.length > 0);
    expect(tracker.session.progress).toEqual([{ instance_id: task.instance_id, attempt: 1, progress: 0.5, text: 'step 500' }]);
    held.open();
  });
});

describe('the node id', () => {
  it('is one that no other process of the folder has, when none is given', async () => {
    const dataDir = folder();
    const tracker = await fakeTracker();
    const [first, second] = [await startWorker(tracker, () => undefined, { dataDir }), await startWorker(tracker, () => undefined, { dataDir })];
    expect(first.nodeId).not.toBe(second.nodeId);
    await first.drain(0);
    const third = await startWorker(tracker, () => undefined, { dataDir });
    expect(third.nodeId).toBe(first.nodeId);
    expect(readdirSync(join(dataDir, 'task-tracker', 'g'))).toEqual(expect.arrayContaining([first.nodeId, second.nodeId]));
  });
});
