import { join } from 'node:path';
import { systemClock } from '../../shared/time/clock.js';
import { RetryLater, type RunnerContext, type Runners } from '../../services/task-tracker/index.js';
import { countByPieces, type FileCount } from './count.js';

/** What the payload of a file job says. */
export interface FileTask {
  root: string;
  path: string;
  /** Makes the job long enough that a killed worker surely holds some. */
  pauseMs: number;
}

/** What a file job gives back. */
export interface FileResult extends FileCount {
  path: string;
}

/** What the timed job gives back; milliseconds since 1970 UTC. */
export interface TimedResult {
  dueAt: number;
  startedAt: number;
}

async function countFile({ job, signal, log }: RunnerContext): Promise<FileResult> {
  const task = job.json<FileTask>();
  const count = await countByPieces(join(task.root, task.path), signal);
  await systemClock.sleep(task.pauseMs, signal);
  log.info(`${task.path}: ${count.lines} lines`);
  return { path: task.path, ...count };
}

function poison({ attempt }: RunnerContext): never {
  throw new Error(`poison, attempt ${attempt}`);
}

function later({ retryTimes }: RunnerContext): string {
  if (retryTimes === 0) throw new RetryLater('1s', 'not yet');
  return 'now';
}

function timed({ scheduledTime }: RunnerContext): TimedResult {
  return { dueAt: scheduledTime.getTime(), startedAt: systemClock.now() };
}

/** The runners of the demonstration's workers. */
export const runners: Runners = { file: countFile, poison, later, timed };
