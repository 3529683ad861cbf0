import type { NewJob } from '../../services/job-client/index.js';
import type { FileTask } from './runners.js';
import { workerGroup } from './suite.js';

/** The group that the results are owed to. */
export const resultGroup = 'demo-client';

const pauseMs = 150;
const timedInMs = 2_000;
const poisonRetries = 3;

/** How many attempts the poison job has in the end. */
export const poisonAttempts = poisonRetries + 1;

const common = { node_group: workerGroup, submit_node_group: resultGroup, need_feedback: true, max_lost: 5 };

/** One job per file, a poison one, one that asks for a second run, and one that is due in two seconds. */
export function makeJobs(root: string, paths: readonly string[], nowMs: number): NewJob[] {
  const files = paths.map((path): NewJob => {
    const task: FileTask = { root, path, pauseMs };
    return { ...common, task_id: `file-${paths.indexOf(path)}`, type: 'file', payload: JSON.stringify(task), content_type: 'application/json' };
  });
  return [
    { ...common, task_id: 'poison', type: 'poison', max_retry_times: poisonRetries, retry_policy: { law: 'FIXED', delay: 300 } },
    { ...common, task_id: 'later', type: 'later', max_retry_times: 1 },
    { ...common, task_id: 'timed', type: 'timed', priority: 1, trigger_time: nowMs + timedInMs },
    ...files,
  ];
}
