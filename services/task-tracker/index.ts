/* The worker library: what `light-task-scheduler/worker` exports. */
export { TaskTracker } from './task-tracker.js';
export type { TaskTrackerOptions } from './options.js';
export { RunAborted, type Runner, type RunnerContext, type RunnerJob, type RunnerLog, type Runners, type RunnerWithOptions } from './run/runner.js';
export { DoNotRetry, Outcome, RetryLater, type RetryWhen } from './run/outcome.js';
export type { AbortReason } from './stream/messages.js';
export type { MasterListener, Mastership } from '../../shared/master/master-lease.js';
export { LtsError } from '../../shared/errors/lts-error.js';
export { createLogger, type Logger } from '../../shared/log/logger.js';
