import type { NewJob } from '../../../services/job-client/submit/new-job.js';

export const secondMs = 1_000;

/** Every one of these fires each second from `firstAt` on: crons and repeats, half of each may overlap. */
export function everySecond(count: number, groups: readonly string[], firstAt: number): NewJob[] {
  return Array.from({ length: count }, (_, i) => ({
    task_id: `every-second-${i}`,
    node_group: groups[(i >> 2) % groups.length] ?? '',
    ...(i % 2 === 0 ? { cron_expression: '* * * * * ?', cron_dialect: 'QUARTZ' as const, start_time: firstAt } : { repeat_interval: secondMs, repeat_count: -1, trigger_time: firstAt }),
    ...(i % 4 < 2 ? {} : { rely_on_prev_cycle: false }),
  }));
}
