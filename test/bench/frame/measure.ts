import { systemClock } from '../../../shared/time/clock.js';
import type { Measurement, Work } from '../contender.js';
import type { Child } from './child.js';
import { machineNow } from './machine-clock.js';
import type { SubmitOrder, Submitted } from './producer.js';
import { percentilesOf } from './statistics.js';
import type { WitnessRecord } from './witness.js';

/** A worker that runs nothing for so long while jobs are missing has lost them. */
const stallMs = 20_000;
/** Long enough for every contender to go idle again, short enough for hundreds of jobs. */
const idleMs = 10;

/** Puts one contender's producer and worker through the work. Both are closed afterwards. */
export async function measure(producer: Child, worker: Child, work: Work): Promise<Measurement> {
  const order = { batch: work.batch, inFlight: work.inFlight, payload: work.payload };
  const submit = (first: number, count: number): Promise<Submitted> => producer.call('submit', { ...order, first, count } satisfies SubmitOrder);
  const ended = (count: number): Promise<number> => worker.call('ended', { count, stallMs });
  const each = async (first: number, count: number): Promise<Submitted> => {
    const at = new Float64Array(count);
    for (let index = 0; index < count; index++) {
      await systemClock.sleep(idleMs);
      at.set((await submit(first + index, 1)).at, index);
      await ended(first + index + 1);
    }
    return { at };
  };
  const submitPart = work.scenario === 'latency' ? each : submit;

  await submitPart(0, work.warmUp);
  await ended(work.warmUp);
  const submitted = await submitPart(work.warmUp, work.jobs);
  const lastEnd = await ended(work.warmUp + work.jobs);
  await producer.call('close');
  return judge(work, submitted, lastEnd, await worker.call<WitnessRecord>('close'));
}

function judge(work: Work, submitted: Submitted, lastEnd: number, record: WitnessRecord): Measurement {
  const waits: number[] = [];
  let lost = 0;
  let runs = 0;
  for (let index = 0; index < work.jobs; index++) {
    const count = record.runs[work.warmUp + index] ?? 0;
    runs += count;
    if (count === 0) lost += 1;
    else waits.push((record.startedAt[work.warmUp + index] ?? Number.NaN) - (submitted.at[index] ?? Number.NaN));
  }
  const firstSubmit = submitted.at[0] ?? machineNow();
  return {
    jobsPerSecond: ((work.jobs - lost) / (lastEnd - firstSubmit)) * 1_000,
    submitToStartMs: percentilesOf(Float64Array.from(waits)),
    lost,
    duplicates: runs - (work.jobs - lost),
  };
}
