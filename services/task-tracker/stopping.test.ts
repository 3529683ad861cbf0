import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { LtsError } from '../../shared/errors/lts-error.js';
import { toGrpcStatus } from '../../shared/errors/grpc-status.js';
import { systemClock } from '../../shared/time/clock.js';
import { eventually } from '../../test/kit/eventually.js';
import { taskOf } from '../../test/kit/fake-job-tracker.js';
import { cleanUp, fakeTracker, folder, gate, startWorker } from '../../test/kit/worker.js';
import { RunAborted, type RunnerContext } from './index.js';

afterEach(cleanUp);

/** Runs until it is aborted, then throws the reason. */
function untilAborted({ signal }: RunnerContext): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

/** A worker in a process of its own, whose main thread may block. */
function startWorkerInProcess(address: string, runners: string): ChildProcess {
  const place = folder();
  writeFileSync(join(place, 'runners.mjs'), runners);
  const library = new URL('index.js', import.meta.url).href;
  const code = `import { TaskTracker } from ${JSON.stringify(library)};
    await new TaskTracker({ trackers: ['${address}'], nodeGroup: 'g', runners: './runners.mjs', workThreads: 1, dataDir: '.' }).start();`;
  return spawn(process.execPath, ['--input-type=module', '-e', code], { cwd: place, stdio: 'inherit' });
}

function block(ms: number): void {
  const until = systemClock.monotonic() + ms;
  while (systemClock.monotonic() < until);
}

describe('a cancel', () => {
  it('aborts the run and is confirmed when the runner has stopped', async () => {
    const tracker = await fakeTracker();
    const reasons: unknown[] = [];
    const held = gate();
    await startWorker(tracker, async (context) => {
      context.signal.addEventListener('abort', () => reasons.push(context.signal.reason), { once: true });
      await held.runner(context);
    });
    const task = taskOf({});
    tracker.session.tasks([task]);
    await eventually(() => held.started.length === 1);
    tracker.session.send({ cancels: { attempts: [{ instance_id: task.instance_id ?? '', attempt: 1 }] } });
    await eventually(() => reasons.length === 1);
    expect(reasons[0]).toBeInstanceOf(RunAborted);
    expect((reasons[0] as RunAborted).why).toBe('cancelled');
    expect(tracker.results).toEqual([]);
    held.open();
    await eventually(() => tracker.results.length === 1);
    expect(tracker.results).toMatchObject([{ outcome: 'ATTEMPT_OUTCOME_CANCELLED' }]);
  });

  it('reaches runs that have not begun because another one blocks', async () => {
    const tracker = await fakeTracker();
    const ran: string[] = [];
    const [first, second] = [taskOf({ type: 'blocks' }), taskOf({ type: 'second' })];
    const cancels = { attempts: [{ instance_id: second.instance_id ?? '', attempt: 1 }] };
    await startWorker(tracker, { blocks: () => block(400), second: () => void ran.push('second') });
    tracker.session.tasks([first, second]);
    tracker.session.send({ cancels });
    await eventually(() => tracker.results.length === 2);
    expect(ran).toEqual([]);
    expect(tracker.results.map(({ outcome }) => outcome)).toEqual(['ATTEMPT_OUTCOME_SUCCESS', 'ATTEMPT_OUTCOME_CANCELLED']);
    expect(tracker.results.map(({ started_at }) => started_at > 0)).toEqual([true, false]);
  });

  it('of an attempt that is not here is confirmed at once', async () => {
    const tracker = await fakeTracker();
    await startWorker(tracker, () => undefined);
    tracker.session.send({ cancels: { attempts: [{ instance_id: 'elsewhere', attempt: 4 }] } });
    await eventually(() => tracker.results.length === 1);
    expect(tracker.results).toMatchObject([{ instance_id: 'elsewhere', attempt: 4, outcome: 'ATTEMPT_OUTCOME_CANCELLED' }]);
  });
});

describe('a time-out', () => {
  it('ends the attempt at once; the slot comes free when the runner has ended', async () => {
    const tracker = await fakeTracker();
    const held = gate();
    await startWorker(tracker, held.runner, { workThreads: 1 });
    tracker.session.tasks([taskOf({ execution_timeout: 100 })]);
    await eventually(() => tracker.results.length === 1);
    expect(tracker.results).toMatchObject([{ outcome: 'ATTEMPT_OUTCOME_EXCEPTION', message: 'timed out after 100 ms' }]);
    expect(held.started[0]?.signal.reason).toMatchObject({ why: 'timeout' });
    expect(tracker.session.granted).toBe(1);
    held.open();
    await eventually(() => tracker.session.granted === 2);
    expect(tracker.results.length).toBe(1);
  });
});

describe('a worker whose own thread loses its trackers', () => {
  it('goes on running, and aborts after the grace time as lost', async () => {
    const tracker = await fakeTracker({ graceMs: 300 });
    const reasons: unknown[] = [];
    await startWorker(tracker, async (context) => {
      try {
        await untilAborted(context);
      } catch (error) {
        reasons.push(error);
        throw error;
      }
    });
    tracker.session.tasks([taskOf({})]);
    await eventually(() => tracker.session.order.includes('slots'));
    const port = Number(tracker.address.split(':')[1]);
    tracker.stop();
    await eventually(() => reasons.length === 1);
    expect(reasons[0]).toMatchObject({ why: 'lost' });
    await eventually(() => tracker.start(port).then(() => true));
    await eventually(() => tracker.results.length === 1);
    expect(tracker.results[0]?.outcome).toBe('ATTEMPT_OUTCOME_INTERRUPTED');
  });

  it('leaves a tracker that says nothing for three ping intervals', async () => {
    const tracker = await fakeTracker({ pingIntervalMs: 350 });
    await startWorker(tracker, () => undefined);
    await eventually(() => tracker.sessions.length >= 2);
    expect(tracker.sessions[0]?.closed).toBe(true);
    expect(tracker.sessions[0]?.goodbye).toBe(false);
  });

  it('stops for good when a newer process has its node id', async () => {
    const tracker = await fakeTracker();
    const worker = await startWorker(tracker, () => undefined);
    const error = new LtsError('INCARNATION_SUPERSEDED', 'a newer process of this node is at work');
    tracker.session.stream.emit('error', toGrpcStatus(error, () => undefined));
    await expect(worker.closed).rejects.toMatchObject({ reason: 'INCARNATION_SUPERSEDED' });
    expect(tracker.sessions.length).toBe(1);
  });
});

describe('a tracker that drains', () => {
  it('keeps getting results until the next owner has the inventory; nothing more is granted to it', async () => {
    const [first, second] = [await fakeTracker(), await fakeTracker({ welcomes: false })];
    const held = gate();
    await startWorker(first, { default: () => 'quick', held: held.runner });
    const long = taskOf({ type: 'held' });
    first.session.tasks([long]);
    await eventually(() => held.started.length === 1);
    const { granted } = first.session;
    first.session.send({ drain: { owner: second.address } });
    await eventually(() => second.sessions.length === 1);
    held.open();
    await eventually(() => first.session.results.length === 1);
    expect(first.session.granted).toBe(granted);
    second.session.owns(2);
    await eventually(() => second.session.granted === 4);
    await eventually(() => first.session.closed);
    expect(first.session.goodbye).toBe(false);
  });
});

describe('a worker that drains', () => {
  it('lets runs finish, sends back what comes late, delivers, says goodbye', async () => {
    const tracker = await fakeTracker();
    const held = gate();
    const worker = await startWorker(tracker, held.runner);
    tracker.session.tasks([taskOf({})]);
    await eventually(() => held.started.length === 1);
    const drained = worker.drain(10_000);
    const late = taskOf({});
    await eventually(() => {
      if (!tracker.results.some(({ outcome }) => outcome === 'ATTEMPT_OUTCOME_INTERRUPTED') && tracker.session.sent < 2) tracker.session.tasks([late]);
      return tracker.results.length === 1;
    });
    held.open();
    await drained;
    expect(tracker.results).toMatchObject([{ instance_id: late.instance_id, outcome: 'ATTEMPT_OUTCOME_INTERRUPTED', started_at: 0 }, { outcome: 'ATTEMPT_OUTCOME_SUCCESS', message: 'through' }]);
    expect(tracker.session.goodbye).toBe(true);
    await expect(worker.closed).resolves.toBeUndefined();
  });

  it('aborts what does not finish in time', async () => {
    const tracker = await fakeTracker();
    const worker = await startWorker(tracker, untilAborted);
    tracker.session.tasks([taskOf({})]);
    await eventually(() => worker.running === 1);
    await worker.drain(50);
    expect(tracker.results).toMatchObject([{ outcome: 'ATTEMPT_OUTCOME_INTERRUPTED', message: expect.stringContaining('shut down') }]);
    expect(tracker.session.goodbye).toBe(true);
  });

  it('reports runs that do not stop', async () => {
    const tracker = await fakeTracker();
    const held = gate();
    const worker = await startWorker(tracker, held.runner);
    tracker.session.tasks([taskOf({})]);
    await eventually(() => held.started.length === 1);
    await worker.drain(0);
    expect(tracker.results).toMatchObject([{ outcome: 'ATTEMPT_OUTCOME_INTERRUPTED', message: expect.stringContaining('did not stop') }]);
    expect(tracker.results[0]?.started_at).toBeGreaterThan(0);
    held.open();
  });
});

describe('code that blocks its thread', () => {
  it('stops neither heartbeats nor time limits', async () => {
    const tracker = await fakeTracker();
    const worker = startWorkerInProcess(tracker.address, 'export const runners = { blocks: () => { const until = Date.now() + 4_000; while (Date.now() < until); } };');
    try {
      await eventually(() => tracker.session.granted > 0);
      tracker.session.tasks([taskOf({ type: 'blocks', execution_timeout: 300 })]);
      const blocked = await eventually(() => {
        tracker.session.send({ ping: { nonce: 1 } });
        return tracker.session.pongs.find((pong) => pong.blocked > 1_000);
      });
      expect(blocked.running).toBe(1);
      expect(tracker.results).toMatchObject([{ outcome: 'ATTEMPT_OUTCOME_EXCEPTION', message: 'timed out after 300 ms' }]);
      // The slot is taken until the code has really ended.
      expect(tracker.session.granted).toBe(1);
      await eventually(() => tracker.session.granted === 2);
    } finally {
      worker.kill('SIGKILL');
    }
  });
});

describe('a runner with a thread of its own', () => {
  it('may block, log and return; it is ended when it does not stop', async () => {
    const file = join(folder(), 'runners.mjs');
    writeFileSync(
      file,
      `export const runners = {
        blocks: { thread: true, run: ({ job, log, progress }) => { log.info('hi'); progress(0.5); const until = Date.now() + 300; while (Date.now() < until); return job.text(); } },
        forever: { thread: true, run: () => { for (;;); } },
        obeys: { thread: true, run: ({ signal }) => new Promise((_, reject) => { signal.onabort = () => reject(signal.reason); }) },
        throws: { thread: true, run: () => { throw new Error('in there'); } },
        dies: { thread: true, run: () => process.exit(3) },
        main: () => 'main',
      };`,
    );
    const tracker = await fakeTracker();
    const worker = await startWorker(tracker, pathToFileURL(file), { workThreads: 8 });
    const types = ['blocks', 'forever', 'obeys', 'throws', 'dies', 'main'];
    const tasks = Object.fromEntries(types.map((type) => [type, taskOf({ type, payload: Buffer.from('back') })]));
    const resultOf = (type: string): unknown => tracker.results.find((result) => result.instance_id === tasks[type]?.instance_id);
    tracker.session.tasks(Object.values(tasks));
    await eventually(() => tracker.results.length === 4);
    expect(resultOf('main')).toMatchObject({ message: 'main' });
    expect(resultOf('blocks')).toMatchObject({ outcome: 'ATTEMPT_OUTCOME_SUCCESS', message: 'back' });
    expect(resultOf('throws')).toMatchObject({ outcome: 'ATTEMPT_OUTCOME_EXCEPTION', message: expect.stringContaining('Error: in there') });
    expect(resultOf('dies')).toMatchObject({ outcome: 'ATTEMPT_OUTCOME_EXCEPTION', message: expect.stringContaining('thread ended with code 3') });
    await eventually(() => tracker.session.lines.length === 1);
    expect(tracker.session.lines).toMatchObject([{ text: 'hi', instance_id: tasks['blocks']?.instance_id }]);
    tracker.session.send({ cancels: { attempts: ['forever', 'obeys'].map((type) => ({ instance_id: tasks[type]?.instance_id ?? '', attempt: 1 })) } });
    await eventually(() => tracker.results.length === 6);
    expect(resultOf('forever')).toMatchObject({ outcome: 'ATTEMPT_OUTCOME_CANCELLED' });
    expect(resultOf('obeys')).toMatchObject({ outcome: 'ATTEMPT_OUTCOME_CANCELLED' });
    expect(worker.running).toBe(0);
  });
});
