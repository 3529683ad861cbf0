import { parseArgs } from 'node:util';
import { createLogger, TaskTracker } from '../../services/task-tracker/index.js';
import { record } from '../checker/history.js';
import { witnessRunners } from './runners.js';

// One worker process of the chaos run: a TaskTracker for each of its groups.

const text = { type: 'string', default: '' } as const;
const { name, groups, trackers, data, history, slots } = parseArgs({ options: { name: text, groups: text, trackers: text, data: text, history: text, slots: text } }).values;
const workThreads = Number(slots);
const runners = witnessRunners(history);
const log = createLogger(name, 'info');
const workers = groups.split(',').map((nodeGroup) => {
  record(history, 'workers', { kind: 'worker', pid: process.pid, group: nodeGroup, workThreads });
  return new TaskTracker({ trackers: trackers.split(','), nodeGroup, nodeId: name, runners, workThreads, dataDir: data, failStoreBytes: 2 * 1024 * 1024, graceMs: 2_000, log });
});
const running = Promise.all(workers.map((worker) => worker.run()));
process.stdout.write('at work\n');
await Promise.all(workers.map((worker) => worker.connected));
process.stdout.write('connected\n');
await running;
