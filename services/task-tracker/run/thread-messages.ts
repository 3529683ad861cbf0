import type { Mastership } from '../../../shared/master/master-lease.js';
import type { AbortReason } from '../stream/messages.js';
import type { TaskFacts } from './run.js';

/** To a runner's own thread. Its answers are those of Outbox. */
export type ToRunnerThread =
  | { kind: 'run'; type: string; facts: TaskFacts; job: Uint8Array; mastership: Mastership }
  | { kind: 'abort'; why: AbortReason };

/** What a runner's own thread is started with. */
export interface RunnerThreadSettings {
  /** The module that exports the runners. */
  url: string;
}
