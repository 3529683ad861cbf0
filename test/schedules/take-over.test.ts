import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { minuteMs, ScheduleBench } from './schedule-bench.js';

describe('a new owner', () => {
  let bench: ScheduleBench;

  beforeEach(async () => {
    bench = await ScheduleBench.start();
  });

  afterEach(async () => {
    await bench.stop();
  });

  it('fires each time once, whenever the partition changes hands', async () => {
    await bench.cron({ rely_on_prev_cycle: false });
    for (let minute = 0; minute < 8; minute++) {
      await bench.bench.ticks(13 + minute * 7);
      await bench.takeOver();
      for (const id of bench.worker.has.keys()) bench.worker.finish([id]);
    }
    const runs = (await bench.runs()).map(({ scheduledAt }) => scheduledAt);
    expect(runs.length).toBeGreaterThan(3);
    expect(runs).toEqual(runs.map((_time, index) => (runs[0] ?? 0) + index * minuteMs));
    expect(new Set(bench.worker.got).size).toBe(bench.worker.got.length);
  });

  it('holds what was held, and lets it go in its order', async () => {
    await bench.cron({ blocking_policy: { strategy: 'SERIAL', limit: 2 } });
    const first = await bench.got(1);
    await bench.until(async () => (await bench.runs()).length === 3, 'two wait');
    const held = (await bench.runs()).filter(({ state }) => state === 'WAITING').map(({ id }) => id);
    await bench.takeOver();
    await bench.bench.ticks(3);
    expect(bench.worker.got).toEqual([first]);
    await bench.finish(first);
    expect(await bench.got(2)).toBe(held[0]);
    await bench.finish(held[0] ?? '');
    expect(await bench.got(3)).toBe(held[1]);
  });

  it('tells of a run that was covered which one waited for it', async () => {
    await bench.cron({ blocking_policy: { strategy: 'COVER_EARLY' } });
    const first = await bench.got(1);
    await bench.until(async () => (await bench.instance(first)).state === 'CANCELLING', 'it is asked to stop');
    const { id = '', scheduledAt = 0 } = (await bench.runs())[1] ?? {};
    await bench.takeOver();
    expect(await bench.finish(first, 'CANCELLED')).toMatchObject({ state: 'CANCELLED', message: `cancelled while run ${id} of ${new Date(scheduledAt).toISOString()} waited for its end` });
    expect(await bench.got(2)).toBe(id);
  });

  it('lets a held run go for which nothing is left to wait', async () => {
    await bench.cron({ blocking_policy: { strategy: 'SERIAL' } });
    const first = await bench.got(1);
    await bench.until(async () => (await bench.runs()).length === 2, 'one waits');
    const held = (await bench.runs())[1]?.id;
    const seq = bench.bench.seqOf(first);
    bench.bench.damage.prepare('DELETE FROM executing WHERE seq = ?').run(seq);
    bench.bench.damage.prepare('DELETE FROM task WHERE seq = ?').run(seq);
    await bench.takeOver();
    expect(await bench.got(2)).toBe(held);
  });

  it('gives a fixed delay its next time when its run is gone', async () => {
    await bench.repeat({ repeat_mode: 'FIXED_DELAY' });
    const first = await bench.got(1);
    await bench.takeOver();
    await bench.minutes(2);
    // Its run still goes.
    expect(await bench.row()).toMatchObject({ nextAt: undefined });
    await bench.finish(first);
    await bench.until(async () => (await bench.row())?.nextAt !== undefined, 'it has its next time');
    // As if its owner had been killed between the end of the run and the next time.
    bench.bench.damage.prepare('UPDATE schedule SET next_at = NULL').run();
    await bench.takeOver();
    await bench.until(async () => (await bench.row())?.nextAt !== undefined, 'it has its next time again');
    expect((await bench.row())?.nextAt).toBeGreaterThan(bench.now + minuteMs - 5_000);
    await bench.got(2);
  });

  it('knows a run that waits for its retry: it still gives way', async () => {
    await bench.cron({ max_retry_times: 5, retry_policy: { delay: 10 * minuteMs } });
    const first = await bench.got(1);
    await bench.finish(first, 'LATER');
    await bench.takeOver();
    const second = await bench.got(2);
    expect(second).not.toBe(first);
    expect(await bench.instance(first)).toMatchObject({ state: 'FAILED' });
  });
});
