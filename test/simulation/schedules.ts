import { encodeJob } from '../../shared/grpc/job-codec.js';
import type { RunPlan } from './jobs.js';
import type { Random } from './random.js';

/** A schedule of the load, as its maker knows it. */
export interface SimSchedule {
  id: string;
  taskId: string;
  nodeGroup: string;
  bytes: Buffer;
  atMostOnce: boolean;
  needFeedback: boolean;
  /** From one scheduled time to the next. Milliseconds. */
  periodMs: number;
  /** Cron: multiples of the period since 1970; otherwise a grid of its own, or after each end. */
  times: 'cron' | 'grid' | 'delay';
  /** How many runs; -1 without end. */
  count: number;
  misfire: { action: 'SKIP' | 'FIRE_ONCE' | 'FIRE_ALL'; threshold: number; newest: number; window: number };
  blocking: { strategy: 'SERIAL' | 'DISCARD_LATER' | 'COVER_EARLY' | 'CONCURRENT'; limit: number };
  /** What runs do, in turn. */
  plans: readonly RunPlan[];
}

/** Cron seconds that divide a minute. */
const cronSeconds = [1, 2, 5, 10, 20, 30] as const;

/** All that can be asked for, in every mixture. */
export function makeSchedule(random: Random, id: string, taskId: string, nodeGroup: string, submitNodeGroup: string, now: number): SimSchedule {
  const times = random.pick(['cron', 'cron', 'grid', 'grid', 'delay'] as const);
  const seconds = random.pick(cronSeconds);
  const periodMs = times === 'cron' ? seconds * 1_000 : random.int(900, 20_000);
  const count = times === 'cron' || random.chance(0.4) ? -1 : random.int(1, 12);
  const misfire = { action: random.pick(['SKIP', 'FIRE_ONCE', 'FIRE_ALL'] as const), threshold: random.pick([1_000, 10_000, 60_000]), newest: random.int(1, 15), window: random.pick([0, 0, 30_000]) };
  const overlap = times !== 'delay' && random.chance(0.3);
  const strategy = overlap ? 'CONCURRENT' : random.pick(['SERIAL', 'DISCARD_LATER', 'COVER_EARLY'] as const);
  const limit = strategy === 'CONCURRENT' ? random.int(0, 3) : strategy === 'SERIAL' ? random.int(1, 3) : 0;
  const atMostOnce = random.chance(0.15);
  const needFeedback = random.chance(0.3);
  const bytes = encodeJob({
    instance_id: id,
    task_id: taskId,
    node_group: nodeGroup,
    type: random.pick(['', 'mail', 'report']),
    payload: random.chance(0.05) ? Buffer.alloc(5_000) : Buffer.from(id),
    max_retry_times: atMostOnce ? 0 : random.int(0, 2),
    retry_policy: { law: 'RETRY_LAW_FIXED', delay: random.int(1, 4_000) },
    need_feedback: needFeedback,
    submit_node_group: submitNodeGroup,
    replace_on_exist: random.chance(0.5),
    execution_timeout: random.chance(0.15) ? random.int(1_000, 10_000) : 0,
    on_worker_loss: atMostOnce ? 'ON_WORKER_LOSS_FAIL' : 'ON_WORKER_LOSS_REQUEUE',
    ...(times === 'cron' ? { cron_expression: `*/${seconds} * * * * ?`, cron_dialect: 'CRON_DIALECT_QUARTZ' } : { repeat_interval: periodMs, repeat_count: count, trigger_time: random.chance(0.5) ? now + random.int(1, 15_000) : 0 }),
    ...(times === 'delay' ? { repeat_mode: 'REPEAT_MODE_FIXED_DELAY' } : {}),
    ...(overlap ? { rely_on_prev_cycle: false } : {}),
    misfire_policy: { ...(misfire.action === 'FIRE_ALL' ? misfire : { threshold: misfire.threshold }), action: `MISFIRE_ACTION_${misfire.action}` },
    blocking_policy: { strategy: `BLOCKING_STRATEGY_${strategy}`, limit },
  });
  const plans = Array.from({ length: 7 }, () => ({
    durationMs: random.chance(0.25) ? random.between(2_000, 20_000) : random.between(0, 1_500),
    outcome: random.pick(['SUCCESS', 'SUCCESS', 'SUCCESS', 'FAILED', 'LATER', 'EXCEPTION'] as const),
    retryInMs: random.int(0, 3_000),
    stubborn: random.chance(0.35),
  }));
  return { id, taskId, nodeGroup, bytes, atMostOnce, needFeedback, periodMs, times, count, misfire, blocking: { strategy, limit: strategy === 'CONCURRENT' ? limit : 1 }, plans };
}
