import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ScheduleBench } from './schedule-bench.js';

describe('the owner of schedules mends', () => {
  let bench: ScheduleBench;

  beforeEach(async () => {
    bench = await ScheduleBench.start();
  });

  afterEach(() => bench.bench.stop());

  it('a schedule that is due and that memory does not know', async () => {
    await bench.cron({ cron_expression: '0 0 1 1 *' });
    await bench.bench.ticks(3);
    const due = bench.now;
    bench.bench.damage.prepare('UPDATE schedule SET next_at = ?').run(due);
    expect((await bench.instance(await bench.got(1))).scheduledAt).toBe(due);
    expect(await bench.bench.repairs()).toEqual({ FIRE: 1 });
  });

  it('a run that is held although the one before it is gone', async () => {
    await bench.cron({ blocking_policy: { strategy: 'SERIAL' } });
    const first = await bench.got(1);
    await bench.until(async () => (await bench.runs()).length === 2, 'one waits');
    const held = (await bench.runs())[1]?.id;
    const seq = bench.bench.seqOf(first);
    for (const table of ['executing', 'task', 'instance']) bench.bench.damage.prepare(`DELETE FROM ${table} WHERE seq = ?`).run(seq);
    expect(await bench.got(2)).toBe(held);
    expect(await bench.bench.repairs()).toEqual({ EXECUTION_DROPPED: 1, HELD_RUN: 1 });
  });
});
