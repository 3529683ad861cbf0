import type { AttemptOutcome } from '../../services/job-tracker/queue/instance-state.js';
import { encodeJob } from '../../shared/grpc/job-codec.js';
import type { Random } from './random.js';

/** What one attempt of a job does. */
export interface RunPlan {
  durationMs: number;
  outcome: Exclude<AttemptOutcome, 'LOST' | 'CANCELLED' | 'INTERRUPTED'>;
  retryInMs: number;
  /** It goes on when it is asked to stop. */
  stubborn: boolean;
}

/** A job of the load, as its maker knows it. */
export interface SimJob {
  id: string;
  taskId: string;
  nodeGroup: string;
  bytes: Buffer;
  atMostOnce: boolean;
  needFeedback: boolean;
  /** By attempt, from the first; later ones succeed at once. */
  plans: readonly RunPlan[];
}

/** All that can be asked for, in every mixture. */
export function makeJob(random: Random, id: string, nodeGroup: string, submitNodeGroup: string, now: number, tasks: number): SimJob {
  const atMostOnce = random.chance(0.15);
  const taskId = random.chance(0.4) ? `shared-${random.int(1, tasks)}` : random.chance(0.03) ? `cycle-${random.int(1, 4)}` : `own-${id}`;
  const needFeedback = random.chance(0.7);
  const bytes = encodeJob({
    instance_id: id,
    task_id: taskId,
    node_group: nodeGroup,
    type: random.pick(['', 'mail', 'report']),
    payload: random.chance(0.03) ? Buffer.alloc(5_000) : Buffer.from(id),
    priority: random.pick([1, 100, 100, 100]),
    trigger_time: random.chance(0.25) ? now + random.int(1, 15_000) : 0,
    max_retry_times: atMostOnce ? 0 : random.int(0, 3),
    retry_policy: { law: random.pick(['RETRY_LAW_FIXED', 'RETRY_LAW_EXPONENTIAL'] as const), delay: random.int(1, 4_000), max_delay: 8_000 },
    need_feedback: needFeedback,
    submit_node_group: submitNodeGroup,
    replace_on_exist: random.chance(0.3),
    execution_timeout: random.chance(0.15) ? random.int(1_000, 10_000) : 0,
    on_worker_loss: atMostOnce ? 'ON_WORKER_LOSS_FAIL' : 'ON_WORKER_LOSS_REQUEUE',
    ...(random.chance(0.2) ? { max_lost: random.int(1, 2) } : {}),
  });
  const plans = Array.from({ length: random.int(0, 4) }, () => ({
    durationMs: random.chance(0.12) ? random.between(2_000, 20_000) : random.between(0, 800),
    outcome: random.pick(['SUCCESS', 'SUCCESS', 'SUCCESS', 'FAILED', 'LATER', 'EXCEPTION'] as const),
    retryInMs: random.int(0, 3_000),
    stubborn: random.chance(0.35),
  }));
  return { id, taskId, nodeGroup, bytes, atMostOnce, needFeedback, plans };
}
