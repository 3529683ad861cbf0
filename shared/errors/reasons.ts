import { status } from '@grpc/grpc-js';

/**
 * Every reason an error of this system can have, with its gRPC status and what the caller should do. The reason
 * travels as trailing metadata `lts-reason`. The README's table of errors is checked against this one.
 */
export const reasons = {
  INVALID_ARGUMENT: { code: status.INVALID_ARGUMENT, action: 'Correct the named field and call again.' },
  CRON_INVALID: { code: status.INVALID_ARGUMENT, action: 'Correct the named part of the expression; `lts schedule preview` shows when it fires.' },
  BAD_FRAME: { code: status.INVALID_ARGUMENT, action: 'The peer broke the stream protocol; update or mend it.' },
  INSTANCE_ID_CONFLICT: { code: status.ALREADY_EXISTS, action: 'Use a new instance_id for a different job.' },
  INSTANCE_NOT_FOUND: { code: status.NOT_FOUND, action: 'Check the id, the task and the group; ended instances go after the retention.' },
  NOT_FOUND: { code: status.NOT_FOUND, action: 'Check the name.' },
  BACKLOG_FULL: { code: status.RESOURCE_EXHAUSTED, action: 'Wait until workers have caught up, add workers, or raise the limit.' },
  DISK_LOW: { code: status.RESOURCE_EXHAUSTED, action: 'Free disk space where the store lies.' },
  FAIL_STORE_FULL: { code: status.RESOURCE_EXHAUSTED, action: 'Bring a tracker back, or raise the size of the FailStore.' },
  TOO_MANY_CALLS: { code: status.RESOURCE_EXHAUSTED, action: 'Back off and call again.' },
  NOT_OWNER: { code: status.UNAVAILABLE, action: 'Call the tracker in lts-owner, or the gateway, with the same ids.' },
  LOADING: { code: status.UNAVAILABLE, action: 'Call again in a moment with the same ids.' },
  DRAINING: { code: status.UNAVAILABLE, action: 'Call another node with the same ids.' },
  NO_TRACKER: { code: status.UNAVAILABLE, action: 'Start a JobTracker, or check the addresses.' },
  STORE_LOCKED: { code: status.UNAVAILABLE, action: 'Another process holds the store; end or resume the named process.' },
  STORE_FAILED: { code: status.UNAVAILABLE, action: 'Look into the tracker\'s log; call again with the same ids.' },
  REGISTRY_UNAVAILABLE: { code: status.UNAVAILABLE, action: 'Check ZooKeeper; owners go on meanwhile.' },
  DEADLINE_PASSED: { code: status.DEADLINE_EXCEEDED, action: 'The outcome is unknown: call again with the same ids.' },
  INCARNATION_SUPERSEDED: { code: status.FAILED_PRECONDITION, action: 'A newer process of this node is at work; stop this one.' },
  STORE_FOREIGN: { code: status.FAILED_PRECONDITION, action: 'The file is not a store of this program, or of another cluster; point to the right one.' },
  STORE_NEWER: { code: status.FAILED_PRECONDITION, action: 'A newer version wrote the store; run that version.' },
  STORE_UNSAFE: { code: status.FAILED_PRECONDITION, action: 'Correct the named setting of the database: with it, what was confirmed can be lost.' },
  STORE_DAMAGED: { code: status.DATA_LOSS, action: 'Restore the store from a backup.' },
  CONFIG_INVALID: { code: status.FAILED_PRECONDITION, action: 'Correct the named settings.' },
  NEVER_FIRES: { code: status.FAILED_PRECONDITION, action: 'The schedule has no time to come; submit it anew with other times.' },
  LAST_TRACKER: { code: status.FAILED_PRECONDITION, action: 'Start another JobTracker, or undrain one; to stop this one, just stop it.' },
  TRACKERS_RUNNING: { code: status.FAILED_PRECONDITION, action: 'Stop, or bring up to date, the named trackers first.' },
  STALE_EPOCH: { code: status.ABORTED, action: 'Another owner has taken over; follow the cluster map.' },
  VERSION_CONFLICT: { code: status.ABORTED, action: 'Read again and repeat.' },
  UNSUPPORTED: { code: status.UNIMPLEMENTED, action: 'Call a node that serves it.' },
  CANCELLED: { code: status.CANCELLED, action: 'None: the caller gave up.' },
  INTERNAL: { code: status.INTERNAL, action: 'A fault of this program: report it with the correlation id from the message.' },
} as const satisfies Record<string, { code: status; action: string }>;

/** One of the closed set of reasons. */
export type Reason = keyof typeof reasons;
