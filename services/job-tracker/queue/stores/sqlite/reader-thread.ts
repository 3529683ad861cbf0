import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { HeldEpoch, ReadyKey } from '../../queue-store.js';
import type { InstanceFilter } from '../../status-queries.js';
import { openForReading } from './database.js';
import { FeedbackReads } from './feedback-reads.js';
import { InstanceReads } from './instance-reads.js';
import { ScheduleReads, type ScheduleFilter } from './schedule-reads.js';
import { QueueReads } from './queue-reads.js';
import { answer, servedBy } from './serve-calls.js';
import type { CallMessage } from './store-thread.js';

const port = parentPort as MessagePort;
const db = openForReading((workerData as { file: string }).file);
const instances = new InstanceReads(db);
const feedback = new FeedbackReads(db);
const queues = new QueueReads(db);
const schedules = new ScheduleReads(db);

const served = {
  findById: (id: string) => instances.byId(id),
  findLive: (nodeGroup: string, taskId: string) => instances.liveOfTask(nodeGroup, taskId),
  searchTask: (nodeGroup: string, taskId: string, before: number) => instances.searchTask(nodeGroup, taskId, before),
  listInstances: (filter: InstanceFilter) => instances.list(filter),
  listAttempts: (id: string) => instances.attempts(id),
  listLogs: (id: string, attempt: number, afterLine: number, limit: number) => queues.logs(id, attempt, afterLine, limit),
  countBefore: (nodeGroup: string, key: ReadyKey, most: number) => queues.countBefore(nodeGroup, key, most),
  owners: () => queues.owners(),
  fenced: (held: readonly HeldEpoch[]) => queues.fenced(held),
  readFeedback: (group: string, partitions: readonly number[], afterSeq: number, now: number, limit: number) =>
    feedback.due(group, partitions, afterSeq, now, limit),
  listFeedback: (group: string, deadOnly: boolean, limit: number) => feedback.list(group, deadOnly, limit),
  countFeedback: () => feedback.counts(),
  listSchedules: (filter: ScheduleFilter) => schedules.list(filter),
  findSchedule: (nodeGroup: string, taskId: string) => schedules.find(nodeGroup, taskId),
  searchPast: (nodeGroup: string, taskId: string, before: number) => schedules.searchPast(nodeGroup, taskId, before),
  close: () => void db.close(),
};

/** What this thread serves. */
export type ReaderCalls = typeof served;

port.on('message', (message: CallMessage) => answer(port, message.call, servedBy(served, message)));
