import { parseArgs } from 'node:util';
import { JobClient } from '../../services/job-client/index.js';
import { createLogger } from '../../shared/log/logger.js';
import { systemClock } from '../../shared/time/clock.js';
import { record } from '../checker/history.js';
import { Admin } from '../cluster/admin.js';
import { hostMs } from './host-clock.js';
import { nextJob, type PlannedJob } from './jobs.js';
import { Random } from './random.js';

// One client process of the chaos run: submits so many jobs a second until SIGUSR2, takes results until SIGTERM.

const text = { type: 'string', default: '' } as const;
const options = { name: text, groups: text, trackers: text, gateway: text, status: text, data: text, history: text, rate: text, seed: text, wall: text } as const;
const given = parseArgs({ options }).values;
const { name, history } = given;
const groups = given.groups.split(',');
const tickMs = 50;
/** What a pause has held up is not made up for. */
const mostBehindMs = 1_000;

const client = new JobClient({
  ...(given.gateway === '' ? { trackers: given.trackers.split(','), dataDir: given.data, failStoreSize: 4 * 1024 * 1024 } : { gateway: given.gateway }),
  nodeGroup: `results-${name}`,
  nodeId: name,
  log: createLogger(name, 'info'),
});
const status = given.status.split(',').map((address) => new Admin(address));
let stopped = false;
let submitted = 0;

async function submit({ job, cancelAfterMs }: PlannedJob): Promise<void> {
  const task_id = `${name}-${process.pid}-${++submitted}`;
  try {
    const { instance_id: id = '', outcome } = await client.submit({ ...job, task_id });
    const atMostOnce = job.on_worker_loss === 'FAIL';
    record(history, `acked-${name}`, { kind: 'acked', id, atMostOnce, needFeedback: job.need_feedback ?? false, local: outcome === 'SUBMIT_OUTCOME_STORED_LOCALLY' });
    if (cancelAfterMs === undefined) return;
    await systemClock.sleep(cancelAfterMs);
    await cancel(id, job.node_group);
  } catch {
    // Nothing was promised: refused, or no answer in time.
    record(history, `refused-${name}`, { kind: 'refused', at: Math.round(hostMs()) });
  }
}

/** What the store says after the ack bounds the attempts: no new one may be committed from then on. */
async function cancel(instance_id: string, node_group: string): Promise<void> {
  const { outcome } = await client.cancel({ instance_id, node_group });
  if (outcome !== 'CANCEL_OUTCOME_CANCELLED' && outcome !== 'CANCEL_OUTCOME_CANCELLING') return;
  for (const admin of status) {
    const attempts = await admin.instance(instance_id).then(({ attempt }) => attempt, () => undefined);
    if (attempts === undefined) continue;
    record(history, `cancelled-${name}`, { kind: 'cancelled', id: instance_id, done: outcome === 'CANCEL_OUTCOME_CANCELLED', attempts });
    return;
  }
}

async function load(): Promise<void> {
  const random = new Random(Number(given.seed) + process.pid);
  const gapMs = 1_000 / Number(given.rate);
  let due = hostMs();
  for (; !stopped; await systemClock.sleep(tickMs)) {
    due = Math.max(due, hostMs() - mostBehindMs);
    for (; due < hostMs(); due += gapMs) void submit(nextJob(random, groups, hostMs() + Number(given.wall)));
  }
}

client.onResult(({ instance_id: id, state }) => record(history, `results-${name}`, { kind: 'result', id, state: state.replace('INSTANCE_STATE_', '') }));
process.on('SIGUSR2', () => (stopped = true));
process.once('SIGTERM', () => {
  stopped = true;
  void client.close().finally(() => process.exit(0));
});
process.stdout.write('at work\n');
await load();
