import { formatAddress } from '../../shared/config/kinds.js';
import type { Logger } from '../../shared/log/logger.js';
import type { TaskTrackerConfig } from './config.js';
import { TaskTracker } from './task-tracker.js';

/** A running worker service. */
export interface RunningTaskTracker {
  /** It opens no port: its node id. */
  address: string;
  /** Takes no more tasks, lets runs finish or aborts them, delivers or stores their results, says goodbye. */
  drain(): Promise<void>;
  lines: readonly string[];
  /** Rejects when it cannot go on (a newer process of this node, a fault of the stream thread); resolves after drain(). */
  closed: Promise<void>;
  /**
   * For promises that user code left unhandled: they are logged and the worker goes on, for they leave no broken state
   * behind. An uncaught exception may, and has to end the process.
   */
  onStray: (error: unknown) => void;
}

/** Starts the worker service; it works as soon as a tracker can be reached. Errors: CONFIG_INVALID, those of the FailStore. */
export async function startTaskTracker(config: TaskTrackerConfig, { log }: { log: Logger }): Promise<RunningTaskTracker> {
  const { zookeeper, nodeId } = config;
  const worker = new TaskTracker({
    trackers: config.trackers.map(formatAddress),
    ...(zookeeper === undefined ? {} : { zookeeper }),
    cluster: config.cluster,
    nodeGroup: config.group,
    runners: config.runners,
    workThreads: config.workThreads,
    dataDir: config.dataDir,
    failStoreBytes: config.failStoreSize,
    ...(nodeId === undefined ? {} : { nodeId }),
    graceMs: config.grace,
    log,
  });
  await worker.start();
  return {
    address: worker.nodeId,
    drain: () => worker.drain(),
    lines: [`group ${config.group}, ${config.workThreads} tasks at once`],
    closed: worker.closed,
    onStray: (error) => log.error('runner.failed', { error }),
  };
}
