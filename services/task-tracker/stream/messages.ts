import type { LogLevel__Output } from '../../../shared/grpc/generated/lts/v1/LogLevel.js';
import type { LogEvent } from '../../../shared/log/events.js';
import type { Reason } from '../../../shared/errors/reasons.js';
import type { Mastership } from '../../../shared/master/master-lease.js';
import type { EndedBatch } from '../report/ended-batch.js';
import type { TaskBatch } from './task-batch.js';

/*
 * What the two threads of a worker say to each other: one message per frame or tick, tasks and results packed. A handle is
 * the number of an attempt within this process; it is given by the stream thread and never used twice.
 */

/** Why a run is asked to stop. */
export type AbortReason = 'cancelled' | 'timeout' | 'lost' | 'shutdown';

/** A run with a time limit has begun. */
export interface BegunRun {
  handle: number;
  startedAt: number;
  limitMs: number;
}

/** A line that a runner wrote. */
export interface RunLine {
  handle: number;
  at: number;
  level: LogLevel__Output;
  text: string;
  truncated: boolean;
}

/** How far a run is. */
export interface RunProgress {
  handle: number;
  progress: number;
  text: string;
}

/** From the thread that runs tasks. */
export type ToStream =
  | { kind: 'begun'; run: BegunRun }
  /** All that one tick has brought; lines of a run come before its end. */
  | { kind: 'report'; ended: EndedBatch | undefined; lines: RunLine[] | undefined; progress: RunProgress[] | undefined }
  /** Answer to a pulse. */
  | { kind: 'alive' }
  /** Take no more tasks; abort what still runs after graceMs; deliver, say goodbye, end the thread. */
  | { kind: 'leave'; graceMs: number };

/** To the thread that runs tasks. */
export type ToMain =
  | { kind: 'ready'; nodeId: string; incarnation: string }
  | { kind: 'tasks'; tasks: TaskBatch }
  | { kind: 'abort'; handles: number[]; why: AbortReason }
  | { kind: 'pulse' }
  /** The first one after start says that work can come. */
  | { kind: 'connected'; tracker: string }
  | { kind: 'log'; level: 'debug' | 'info' | 'warn' | 'error'; event: LogEvent; fields: Record<string, unknown> }
  /** Who the master of the group is has changed. */
  | { kind: 'master'; mastership: Mastership }
  /** The worker must not go on. */
  | { kind: 'fatal'; reason: Reason; message: string }
  /** Everything is delivered or stored; the thread ends. */
  | { kind: 'left' };

/** What the stream thread is started with. */
export interface ThreadSettings {
  /** host:port of JobTrackers. */
  trackers: readonly string[];
  /** Connection string of ZooKeeper; undefined: the trackers tell who owns what. */
  zookeeper: string | undefined;
  cluster: string;
  nodeGroup: string;
  /** Undefined: a free one of this host and data folder is taken. */
  nodeId: string | undefined;
  incarnation: string;
  types: readonly string[];
  workThreads: number;
  dataDir: string;
  failStoreBytes: number;
  version: string;
  /** Longest wait for acks at the end, in milliseconds. */
  deliverMs: number;
}
