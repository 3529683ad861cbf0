import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { encodeJob } from '../../shared/grpc/job-codec.js';
import { checkJob } from '../../shared/job/check-job.js';
import { ScheduleBench } from './schedule-bench.js';

describe('runs from when a schedule had no limit', () => {
  let bench: ScheduleBench;

  beforeEach(async () => {
    bench = await ScheduleBench.start();
    await bench.cron({ rely_on_prev_cycle: false });
    await bench.got(2);
  });

  afterEach(async () => {
    await bench.stop();
  });

  const replace = async (fields: object): Promise<void> => {
    const job = checkJob({ task_id: 'task', node_group: 'g', cron_expression: '* * * * *', replace_on_exist: true, ...fields });
    expect(await bench.bench.core.admission.submit([encodeJob(job)], false)).toMatchObject([{ outcome: 'SUBMIT_OUTCOME_REPLACED' }]);
  };
  const times = (count: number) => bench.until(async () => (await bench.runs()).length >= count, `${count} times have come`);

  it('count as soon as it gets one by a replace', async () => {
    const [first = '', second = ''] = bench.worker.got;
    await replace({});
    const byHand = await bench.trigger();
    expect(byHand.waits).toBe(true);
    await times(5);
    const passed = (await bench.runs()).filter(({ id }) => ![first, second, byHand.instanceId].includes(id));
    expect(passed.map(({ state, message }) => [state, message])).toEqual(Array.from({ length: 2 }, () => ['DISCARDED', `run ${first} still goes`]));
    await bench.finish(first);
    await bench.minutes(1);
    expect(bench.worker.got).toHaveLength(2);
    await bench.finish(second);
    expect(await bench.got(3)).toBe(byHand.instanceId);
  });

  it('are waited for by those that are held, whoever owns the partition then', async () => {
    const begun = [...bench.worker.got];
    await replace({ blocking_policy: { strategy: 'SERIAL', limit: 5 } });
    await times(3);
    await bench.takeOver();
    await bench.minutes(1);
    expect(bench.worker.got).toEqual(begun);
    await bench.finish(begun[0] ?? '');
    await bench.takeOver();
    await bench.bench.ticks(3);
    expect(bench.worker.got).toEqual(begun);
    await bench.finish(begun[1] ?? '');
    expect(await bench.got(3)).toBe((await bench.runs())[2]?.id);
  });

  it('count up to the limit that runs may have at once', async () => {
    await replace({ rely_on_prev_cycle: false, blocking_policy: { strategy: 'CONCURRENT', limit: 3 } });
    await bench.got(3);
    await times(4);
    expect((await bench.runs())[3]).toMatchObject({ state: 'DISCARDED' });
    await replace({ rely_on_prev_cycle: false });
    await bench.got(4);
    await replace({ rely_on_prev_cycle: false, blocking_policy: { strategy: 'CONCURRENT', limit: 4 } });
    await times(6);
    expect((await bench.runs())[5]).toMatchObject({ state: 'DISCARDED' });
  });
});
