import type { OwnedGroups } from '../queue/owned-groups.js';
import type { QueueStore } from '../queue/queue-store.js';
import type { Clock } from '../../../shared/time/clock.js';
import { going, type GuardedRuns, type GuardedTask } from '../schedule/guarded-runs.js';
import type { Schedules } from '../schedule/schedules.js';
import type { Repairs } from './repairs.js';
import { Suspicions } from './suspicions.js';

/** A fire that is so much late is on its way as a rule. Milliseconds. */
const toleratedMs = 2_000;
/** Rows that one look reads. */
const rowsAtOnce = 100;
/** Schedules with held runs at which one look looks. */
const tasksAtOnce = 20;

/** Due schedules of a partition that memory does not know, and held runs for which nothing is left to wait. */
export class ScheduleCheck {
  readonly #groups: OwnedGroups;
  readonly #schedules: Schedules;
  readonly #guarded: GuardedRuns;
  readonly #store: Pick<QueueStore, 'readSchedules' | 'findInstance'>;
  readonly #clock: Clock;
  readonly #repairs: Repairs;
  readonly #suspicions = new Suspicions();
  /** How many schedules with held runs of the partition were looked at in this round. */
  #seen = 0;

  constructor(groups: OwnedGroups, schedules: Schedules, guarded: GuardedRuns, store: Pick<QueueStore, 'readSchedules' | 'findInstance'>, clock: Clock, repairs: Repairs) {
    this.#groups = groups;
    this.#schedules = schedules;
    this.#guarded = guarded;
    this.#store = store;
    this.#clock = clock;
    this.#repairs = repairs;
  }

  /** True when the partition is through. */
  async look(partition: number): Promise<boolean> {
    const rows = await this.#store.readSchedules(partition, undefined, this.#clock.now() - toleratedMs, rowsAtOnce);
    const owned = this.#groups.partitions.get(partition);
    for (const row of owned === undefined ? [] : rows) {
      if (this.#schedules.timer.knows(partition, row)) continue;
      this.#suspicions.raise(`fire ${row.sched} ${row.nextAt}`, () => {
        this.#repairs.note('FIRE', { group: row.nodeGroup, taskId: row.taskId, dueAt: row.nextAt });
        this.#schedules.stands(partition, row);
      });
    }
    const holding = [...this.#guarded.all()].filter((task) => task.partition === partition && task.runs.some(({ stands }) => stands === 'held'));
    const next = holding.slice(this.#seen, this.#seen + tasksAtOnce);
    for (const task of next) await this.#checkHeld(task);
    const suspects = this.#suspicions.judge();
    if (suspects) return false;
    this.#seen += next.length;
    if (this.#seen < holding.length) return false;
    this.#seen = 0;
    return true;
  }

  /** What ended is final: a read beside the commits cannot be wrong about it. */
  async #checkHeld(task: GuardedTask): Promise<void> {
    for (const { id, seq, stands } of task.runs) {
      if (stands === 'held' || seq === undefined) continue;
      const row = await this.#store.findInstance({ id });
      if (row !== undefined && row.endedAt === 0) continue;
      this.#suspicions.raise(`ended ${id}`, () => {
        this.#repairs.note('HELD_RUN', { group: task.nodeGroup, taskId: task.taskId, behind: id });
        this.#guarded.ended(id);
      });
    }
    if (going(task) > 0) return;
    this.#suspicions.raise(`held ${task.nodeGroup} ${task.taskId}`, () => {
      this.#repairs.note('HELD_RUN', { group: task.nodeGroup, taskId: task.taskId });
      this.#schedules.free(task);
    });
  }
}
