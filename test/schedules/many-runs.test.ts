import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { encodeJob } from '../../shared/grpc/job-codec.js';
import { checkJob } from '../../shared/job/check-job.js';
import type { LoadedPartition } from '../../services/job-tracker/queue/queue-store.js';
import { ScheduleBench } from './schedule-bench.js';

const slots = 8;
const waiting = 2_500;

describe('a schedule of which very many runs wait', () => {
  let bench: ScheduleBench;
  /** With a worker when it is ended. */
  let begun: string[];

  beforeEach(async () => {
    bench = await ScheduleBench.start();
    // It does not fire while the test goes on.
    await bench.repeat({ rely_on_prev_cycle: false, trigger_time: bench.now + 86_400_000, max_retry_times: 3, retry_policy: { delay: 1_000 } });
    await bench.crowd(slots + waiting);
    await bench.got(slots);
    begun = [...bench.worker.got];
  });

  afterEach(async () => {
    await bench.stop();
  });

  const group = () => bench.bench.core.groups.group('g', 0);
  const cancelledRuns = async () => {
    let [count, before]: [number, number | undefined] = [0, undefined];
    do {
      const page = await bench.bench.store.listInstances({ nodeGroup: 'g', taskId: 'task', states: ['CANCELLED'], before, limit: 1_000 });
      count += page.rows.length;
      before = page.nextBefore;
    } while (before !== undefined);
    return count;
  };
  const allEnded = () => bench.until(() => group().readyCount + group().waiting === 0, 'all have ended');
  const waitingRun = async () => {
    const { rows } = await bench.bench.store.listInstances({ nodeGroup: 'g', taskId: 'task', states: ['READY'], before: undefined, limit: 1 });
    return rows[0]?.id ?? '';
  };
  const another = async (nodeGroup: string, fields: object = {}) => {
    const [result] = await bench.bench.core.admission.submit([encodeJob(checkJob({ task_id: `of ${nodeGroup}`, node_group: nodeGroup, ...fields }))], false);
    return result !== undefined && 'instance_id' in result ? (result.instance_id ?? '') : '';
  };

  it('is deleted at once, and what waits ends in parts: none of it begins meanwhile, others do', async () => {
    const elsewhere = bench.bench.worker(1, 'h');
    const { cancelled, running, more } = await bench.control.remove(bench.name);
    expect([cancelled.length, running.toSorted(), more]).toEqual([1_000, begun.toSorted(), true]);
    // Slots are free, and the attempt of the first one is not the last one that fails.
    bench.worker.finish(begun.slice(0, 4), 'EXCEPTION');
    const other = await another('h');
    await bench.until(() => elsewhere.got.includes(other), 'the job of another group runs');
    await allEnded();
    expect(await cancelledRuns()).toBe(waiting);
    expect(bench.worker.got).toEqual(begun);
    expect((await bench.instance(begun[0] ?? '')).state).toBe('FAILED');
    // The group goes on.
    const after = await another('g');
    expect(await bench.got(slots + 1)).toBe(after);
  });

  it('is deleted while all others of its group go on: those that come, come due, or waited behind its runs', async () => {
    await bench.crowd(5_000);
    const behind = await another('g');
    const due = await another('g', { task_id: 'due', trigger_time: bench.now + 1_000 });
    await bench.control.remove(bench.name);
    const after = await another('g', { task_id: 'after' });
    const { explain } = bench;
    expect(await explain(await waitingRun())).toMatchObject([{ reason: 'WAIT_REASON_RUNS_ENDING', message: expect.stringContaining('task task of group g') }]);
    bench.worker.finish(begun);
    const others = [behind, due, after];
    await bench.until(() => others.every((id) => bench.worker.got.includes(id)), 'the others run');
    expect(group().readyCount).toBeGreaterThan(0);
    await allEnded();
    expect(bench.worker.got.toSorted()).toEqual([...begun, ...others].toSorted());
    expect(await explain(behind)).toEqual([]);
  });

  it('is deleted for good when its owner dies in between', async () => {
    const { store } = bench.bench;
    const loads: LoadedPartition[] = [];
    const load = store.load.bind(store);
    store.load = async (partition) => {
      const loaded = await load(partition);
      loads.push(loaded);
      return loaded;
    };
    await bench.control.remove(bench.name);
    await bench.takeOver();
    expect(loads[0]?.schedules.left).toEqual([{ nodeGroup: 'g', taskId: 'task', by: 'delete' }]);
    bench.worker.finish(begun);
    await allEnded();
    expect(await cancelledRuns()).toBe(waiting);
    expect(bench.worker.got).toEqual(begun);
  });

  it('is suspended, and what it fires after a resume goes on, whatever is left to end', async () => {
    await bench.control.suspend(bench.name);
    await bench.control.resume(bench.name);
    const { instanceId } = await bench.trigger();
    await bench.takeOver();
    bench.worker.finish(begun);
    expect(await bench.got(slots + 1)).toBe(instanceId);
    await bench.finish(instanceId);
    expect(await cancelledRuns()).toBe(waiting);
    expect(bench.worker.got).toEqual([...begun, instanceId]);
  });

  it('is cancelled with its task, also when a delete of it is not through', async () => {
    await bench.control.remove(bench.name);
    const cancelled = await bench.bench.core.cancellation.cancel({ instance_id: '', task_id: 'task', node_group: 'g' });
    expect(cancelled).toMatchObject({ outcome: 'CANCEL_OUTCOME_CANCELLING' });
    await allEnded();
    bench.worker.finish(begun, 'CANCELLED');
    await bench.until(() => group().executing === 0, 'the workers have stopped');
    expect(await cancelledRuns()).toBe(slots + waiting);
    expect(bench.worker.got).toEqual(begun);
  });
});
