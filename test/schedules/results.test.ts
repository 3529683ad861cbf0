import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { minuteMs, ScheduleBench } from './schedule-bench.js';

// What each result does, as LTS's table of results says where it is sound: × {cron, repeat} × {one run after the other,
// runs that overlap}.

const kinds = [
  ['cron, one after the other', 'cron', true],
  ['cron, overlapping', 'cron', false],
  ['repeat, one after the other', 'repeat', true],
  ['repeat, overlapping', 'repeat', false],
] as const;

describe.each(kinds)('%s', (_name, kind, rely) => {
  let bench: ScheduleBench;

  beforeEach(async () => {
    bench = await ScheduleBench.start();
  });

  afterEach(async () => {
    await bench.stop();
  });

  const submit = (fields: object = {}): Promise<string> => bench[kind]({ rely_on_prev_cycle: rely, retry_policy: { delay: 5_000 }, ...fields });
  /** The ends of cron come from its end_time, those of repeat from its count. */
  const twice = (): object => (kind === 'cron' ? { end_time: (Math.floor(bench.now / minuteMs) + 2) * minuteMs } : { repeat_count: 2 });

  it.each([
    ['SUCCESS', 'SUCCEEDED'],
    ['FAILED', 'FAILED'],
    ['LATER', 'FAILED'],
    ['EXCEPTION', 'FAILED'],
  ] as const)('ends a run for good after %s without retries, and fires at its next time', async (outcome, state) => {
    await submit();
    const first = await bench.finish(await bench.got(1), outcome);
    expect(first.state).toBe(state);
    const second = await bench.instance(await bench.got(2));
    expect(second.scheduledAt).toBe(first.scheduledAt + minuteMs);
    expect(second).toMatchObject({ taskId: 'task', state: 'EXECUTING', attempts: 1 });
    expect(second.id).not.toBe(first.id);
    expect(await bench.row()).toMatchObject({ fires: 2, lastAt: second.scheduledAt, nextAt: second.scheduledAt + minuteMs });
  });

  it.each(['LATER', 'EXCEPTION'] as const)('runs the same run again after %s while it has retries, and counts it once', async (outcome) => {
    await submit({ max_retry_times: 2 });
    const id = await bench.got(1);
    const { scheduledAt } = await bench.instance(id);
    expect(await bench.finish(id, outcome)).toMatchObject({ state: 'WAITING', retryTimes: 1, scheduledAt });
    expect(await bench.got(2)).toBe(id);
    expect(await bench.finish(id)).toMatchObject({ state: 'SUCCEEDED', attempts: 2, scheduledAt });
    expect(await bench.row()).toMatchObject({ fires: 1, nextAt: scheduledAt + minuteMs });
    expect((await bench.instance(await bench.got(3))).scheduledAt).toBe(scheduledAt + minuteMs);
  });

  it('is over after its last time, with exactly as many runs as were asked for, also when they fail and run again', async () => {
    await submit({ ...twice(), max_retry_times: 1 });
    const first = await bench.got(1);
    await bench.finish(first, 'LATER');
    await bench.got(2);
    await bench.finish(first, 'EXCEPTION');
    const second = await bench.got(3);
    expect(await bench.row()).toBeUndefined();
    // The schedule is past, its last run still has its retry.
    await bench.finish(second, 'LATER');
    expect(await bench.got(4)).toBe(second);
    await bench.finish(second);
    await bench.minutes(3);
    expect((await bench.runs()).map(({ id, state }) => [id, state])).toEqual([[first, 'FAILED'], [second, 'SUCCEEDED']]);
    expect(bench.worker.got).toHaveLength(4);
  });

  it('goes on after a lost worker with the same run, and no time is lost', async () => {
    await submit();
    const id = await bench.got(1);
    bench.bench.core.directory.closed(bench.worker.worker, bench.worker.session, true);
    bench.worker = bench.bench.worker(8);
    // The grace time passes, and with it maybe a time or more.
    await bench.until(() => bench.worker.has.has(id), 'it runs again');
    expect(bench.worker.has.get(id)).toBe(2);
    const { scheduledAt } = await bench.instance(id);
    await bench.finish(id);
    await bench.until(async () => (await bench.runs()).some((run) => run.scheduledAt === scheduledAt + minuteMs), 'the next time comes');
    expect((await bench.runs())[1]).toMatchObject({ scheduledAt: scheduledAt + minuteMs });
  });

  it('takes a late result for what it is: nothing fires because of it', async () => {
    await submit();
    const id = await bench.got(1);
    await bench.finish(id);
    bench.worker.has.set(id, 1);
    bench.worker.finish([id], 'LATER');
    await bench.bench.ticks(5);
    expect(await bench.instance(id)).toMatchObject({ state: 'SUCCEEDED', attempts: 1 });
    expect(bench.worker.got).toHaveLength(1);
  });

  it.each(['suspend', 'remove', 'cancel'] as const)('does not run again what is running when it is ended by %s', async (how) => {
    await submit({ max_retry_times: 5 });
    const id = await bench.got(1);
    if (how === 'cancel') await bench.bench.core.cancellation.cancel({ node_group: 'g', task_id: 'task', instance_id: '' });
    else await bench.control[how](bench.name);
    const ended = await bench.finish(id, 'LATER');
    expect(ended.state).toBe(how === 'cancel' ? 'CANCELLED' : 'FAILED');
    await bench.minutes(3);
    expect(await bench.states()).toHaveLength(1);
    expect(bench.worker.got).toHaveLength(1);
    expect((await bench.row())?.state).toBe(how === 'suspend' ? 'SUSPENDED' : undefined);
  });
});
