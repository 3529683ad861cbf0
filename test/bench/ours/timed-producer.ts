import { JobClient } from '../../../services/job-client/index.js';
import { systemClock } from '../../../shared/time/clock.js';
import { serve } from '../frame/child.js';
import { machineNow } from '../frame/machine-clock.js';
import type { LtsSettings } from './settings.js';
import { type TimedJobs, timedJob, type TimedSettings } from './timed-jobs.js';

const perCall = 1_000;
const callsInFlight = 4;
const tickMs = 20;
/** Edits that are on their way at once: a slow tracker is not flooded. */
const mostEdits = 2_000;

/** How schedules are edited: so many additions, changes and removals a second, from this number on. */
export interface EditOrder {
  perSecond: number;
  first: number;
}

let client: JobClient | undefined;
let settings: TimedSettings = { groups: 1, payload: '' };
let editing: { stopped: boolean; ended: Promise<number> } | undefined;

const opened = (): JobClient => {
  if (client === undefined) throw new Error('the producer is not open');
  return client;
};

const accepted = new Set(['SUBMIT_OUTCOME_ACCEPTED', 'SUBMIT_OUTCOME_REPLACED']);

/** Submits all of them; gives how many a second were acked. */
async function submit(jobs: TimedJobs): Promise<number> {
  const begun = machineNow();
  let next = 0;
  const caller = async (): Promise<void> => {
    while (next < jobs.count) {
      const from = next;
      next = Math.min(jobs.count, from + perCall);
      const results = await opened().submitMany(Array.from({ length: next - from }, (_, i) => timedJob(jobs, from + i, settings)));
      const refused = results.find(({ outcome }) => !accepted.has(outcome as string));
      if (refused !== undefined) throw new Error(`a job was not accepted: ${refused.outcome} ${refused.reason ?? ''} ${refused.message ?? ''}`);
    }
  };
  await Promise.all(Array.from({ length: callsInFlight }, caller));
  return (jobs.count / (machineNow() - begun)) * 1_000;
}

/** Each schedule is added, replaced a second later and removed after another one; gives the edits a second that were acked. */
async function edit({ perSecond, first }: EditOrder, order: { stopped: boolean }): Promise<number> {
  const begun = machineNow();
  const behind = Math.ceil(perSecond / 3);
  const onTheWay = new Set<Promise<void>>();
  /** By schedule, what was sent of it last: the next waits for it, however late it is. */
  const last = new Map<number, Promise<void>>();
  let acked = 0;
  let failed: unknown;
  const one = async (step: number, number: number, before: Promise<void> | undefined): Promise<void> => {
    await before;
    const job = timedJob({ kind: 'far', first, count: 1_000_000, at: systemClock.now() }, number, settings);
    if (step % 3 === 2) await opened().schedules.delete({ task_id: job.task_id, node_group: job.node_group });
    else await opened().submit({ ...job, replace_on_exist: step % 3 === 1 });
    acked += 1;
  };
  const send = (step: number): void => {
    const number = Math.floor(step / 3) - (step % 3) * behind;
    if (number < 0) return;
    const call = one(step, number, last.get(number)).catch((error: unknown) => (failed = error)).then(() => void onTheWay.delete(call));
    onTheWay.add(call);
    if (step % 3 === 2) last.delete(number);
    else last.set(number, call);
  };
  for (let step = 0; !order.stopped && failed === undefined; await systemClock.sleep(tickMs)) {
    for (const due = ((machineNow() - begun) * perSecond) / 1_000; step < due && onTheWay.size < mostEdits; step++) send(step);
  }
  await Promise.all(onTheWay);
  if (failed !== undefined) throw failed;
  return (acked / (machineNow() - begun)) * 1_000;
}

serve({
  open({ trackers, ...shared }: Pick<LtsSettings, 'trackers'> & TimedSettings) {
    settings = shared;
    client = new JobClient({ trackers, submitTimeout: 60_000 });
  },
  submit,
  startEdits(order: EditOrder) {
    const state = { stopped: false, ended: Promise.resolve(0) };
    state.ended = edit(order, state);
    editing = state;
  },
  endEdits(): Promise<number> {
    if (editing === undefined) throw new Error('nothing is edited');
    editing.stopped = true;
    return editing.ended;
  },
  close: () => client?.close(),
});
