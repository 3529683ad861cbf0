import type { Logger } from '../../shared/log/logger.js';
import type { Runners } from './run/runner.js';

/** Settings of a worker. */
export interface TaskTrackerOptions {
  /** host:port of one or more JobTrackers. They tell where the owner of the group is. */
  trackers?: readonly string[];
  /** Connection string of ZooKeeper, `host:port,host:port/path`: finds trackers that come later. */
  zookeeper?: string;
  /** Name of the cluster in ZooKeeper. Default "default". */
  cluster?: string;
  /** The group whose jobs it runs. 1 to 64 of A-Z a-z 0-9 . _ : - */
  nodeGroup: string;
  /** Functions by job type, one function for all types, or the path or URL of a module that exports them. */
  runners: Runners | string | URL;
  /** How many tasks run at once, 1 to 10,000. Default 64. */
  workThreads?: number;
  /** Folder for what could not be delivered. Default "./data". */
  dataDir?: string;
  /** How much of it, in bytes. Default 64 MiB. */
  failStoreBytes?: number;
  /**
   * Stable name of this node, unique in its group. Default: one of this host and data folder that no other process has.
   */
  nodeId?: string;
  /** How long runs may go on after drain() before they are aborted, in milliseconds. Default 10,000. */
  graceMs?: number;
  /** Longest wait for acks at the end, in milliseconds. Default 5,000. */
  deliverMs?: number;
  /** Default: no log. */
  log?: Logger;
}
