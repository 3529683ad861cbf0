import type { Attempt } from '../../../shared/grpc/generated/lts/v1/Attempt.js';
import type { Instance } from '../../../shared/grpc/generated/lts/v1/Instance.js';
import type { LogLine } from '../../../shared/grpc/generated/lts/v1/LogLine.js';
import type { Queue } from '../../../shared/grpc/generated/lts/v1/Queue.js';
import { decodeJob } from '../../../shared/grpc/job-codec.js';
import type { WorkerDirectory } from '../dispatch/worker-directory.js';
import type { AttemptOutcome } from '../queue/instance-state.js';
import type { OwnedGroups } from '../queue/owned-groups.js';
import type { LogRow } from '../queue/queue-store.js';
import { heldUntil } from '../queue/schedule-store.js';
import type { AttemptRow, InstanceRow } from '../queue/status-queries.js';
import { fitText } from './fit-texts.js';
import { toLimits } from './limit-views.js';

/** A stored instance in the words of the contract; progress is only known to the owner's memory. */
export function toInstance(row: InstanceRow, groups: OwnedGroups): Instance {
  const execution = groups.executions.get(row.id);
  return {
    instance_id: row.id,
    job: row.job === undefined ? { task_id: row.taskId, node_group: row.nodeGroup, type: row.type, priority: row.priority } : decodeJob(row.job),
    state: `INSTANCE_STATE_${row.state}`,
    created_at: row.createdAt,
    // One that is held has no due time of its own.
    due_at: row.dueAt === heldUntil ? row.scheduledAt : row.dueAt,
    ended_at: row.endedAt,
    attempt: row.attempts,
    retry_times: row.retryTimes,
    lost_times: row.lostTimes,
    task_tracker: row.worker,
    message: row.message === '' ? (execution?.cancelReason ?? '') : row.message,
    progress: execution?.progress ?? 0,
    progress_text: execution?.progressText ?? '',
    scheduled_time: row.scheduledAt,
  };
}

function toOutcome(outcome: AttemptOutcome | undefined): NonNullable<Attempt['outcome']> {
  return outcome === undefined ? 'ATTEMPT_OUTCOME_UNSPECIFIED' : `ATTEMPT_OUTCOME_${outcome}`;
}

/** @param mostBytes longer messages are cut */
export function toAttempt(row: AttemptRow, mostBytes: number): Attempt {
  const message = fitText(row.message, mostBytes);
  return {
    attempt: row.attempt,
    task_tracker: row.worker,
    incarnation: row.incarnation,
    assigned_at: row.assignedAt,
    started_at: row.startedAt,
    ended_at: row.endedAt,
    outcome: toOutcome(row.outcome),
    message,
    truncated: row.truncated || message !== row.message,
    late_outcome: toOutcome(row.lateOutcome),
    late_message: fitText(row.lateMessage, mostBytes),
    fencing_token: row.fence,
  };
}

export function toLogLine(row: LogRow): LogLine {
  return { instance_id: row.id, attempt: row.attempt, at: row.at, level: `LOG_LEVEL_${row.level}`, text: row.text, truncated: row.truncated };
}

export function toQueue(name: string, groups: OwnedGroups, directory: WorkerDirectory, feedback: { owed: number; dead: number } | undefined, unclaimedSince = 0): Queue {
  const group = groups.groups.get(name);
  const limits = toLimits(group?.gate.limits);
  const workers = [...directory.ofGroup(name).all].filter((worker) => worker.session !== undefined);
  return {
    node_group: name,
    waiting: group?.waiting ?? 0,
    ready: group?.readyCount ?? 0,
    executing: group?.executing ?? 0,
    oldest_ready_at: group?.ready.first()?.dueAt ?? 0,
    workers: workers.length,
    free_slots: workers.filter((worker) => !worker.drained).reduce((sum, worker) => sum + Math.max(worker.info.workThreads - worker.executions.size, 0), 0),
    feedback: feedback?.owed ?? 0,
    feedback_dead: feedback?.dead ?? 0,
    feedback_unclaimed_since: unclaimedSince,
    ...(limits === undefined ? {} : { limits }),
  };
}
