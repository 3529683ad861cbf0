import type { Schedule__Output } from '../../shared/grpc/generated/lts/v1/Schedule.js';
import { cancelAtOwner } from '../../services/job-client/outbox/send-cancel.js';
import type { CallParts } from '../../services/job-client/discover/call-owner.js';
import { Schedules } from '../../services/job-client/schedules/schedules.js';
import { LtsError } from '../../shared/errors/lts-error.js';
import type { Random } from './random.js';
import { makeSchedule, type SimSchedule } from './schedules.js';
import { taskKey } from './store/rows.js';
import type { World } from './world.js';

const callMs = 5_000;
/** Tasks with a schedule, over all clients and groups. */
const tasks = 4;
/** So many live at once: runs need room. */
const mostLive = 6;
/** What may be answered at any time; the others would be faults. */
const expected = new Set(['NOT_FOUND', 'INSTANCE_NOT_FOUND', 'NO_TRACKER', 'DEADLINE_PASSED', 'NOT_OWNER', 'LOADING', 'DRAINING', 'BACKLOG_FULL', 'TOO_MANY_CALLS', 'DISK_LOW', 'STORE_FAILED', 'STORE_LOCKED', 'NEVER_FIRES', 'CANCELLED', 'VERSION_CONFLICT']);

/** What is done to it. */
interface Named {
  node_group: string;
  task_id: string;
}

/** What a client does with schedules: makes, replaces, suspends, resumes, triggers, deletes and cancels them. */
export class ClientSchedules {
  readonly #world: World;
  readonly #random: Random;
  readonly #parts: CallParts;
  readonly #group: string;
  readonly #newId: () => string;
  readonly #submit: (schedule: SimSchedule) => void;
  readonly #calls: Schedules;
  /** Calls that wait for their answers. */
  open = 0;

  constructor(world: World, random: Random, parts: CallParts, group: string, newId: () => string, submit: (schedule: SimSchedule) => void) {
    this.#world = world;
    this.#random = random;
    this.#parts = parts;
    this.#group = group;
    this.#newId = newId;
    this.#submit = submit;
    this.#calls = new Schedules(parts, callMs, () => undefined);
  }

  act(): void {
    const { groups, db } = this.#world;
    const live = [...db.tables.schedules.values()];
    const nodeGroup = this.#random.pick(groups);
    const target = live.length > 0 && this.#random.chance(0.9) ? this.#random.pick(live) : { nodeGroup, taskId: this.#task() };
    const name = { node_group: target.nodeGroup, task_id: target.taskId };
    const does = this.#random.pick(['make', 'make', 'make', 'make', 'again', 'suspend', 'resume', 'resume', 'trigger', 'trigger', this.#random.chance(0.5) ? 'delete' : 'cancel'] as const);
    if (does === 'make') return live.length < mostLive || this.#random.chance(0.3) ? this.#make(live.length < mostLive ? nodeGroup : target.nodeGroup, live.length < mostLive ? this.#task() : target.taskId) : undefined;
    if (does === 'again') return this.#again();
    this.call(name, does);
  }

  /** Ends every schedule that would go on for ever. */
  endAll(): void {
    for (const { nodeGroup, taskId, id, state } of this.#world.db.tables.schedules.values()) {
      const endless = (this.#world.schedules.get(id)?.count ?? -1) < 0 || state === 'SUSPENDED';
      if (endless) this.call({ node_group: nodeGroup, task_id: taskId }, this.#random.pick(['delete', 'cancel'] as const));
    }
  }

  #task(): string {
    return `cycle-${this.#random.int(1, tasks)}`;
  }

  #make(nodeGroup: string, taskId: string): void {
    this.enroll(makeSchedule(this.#random, this.#newId(), taskId, nodeGroup, this.#group, this.#world.scheduler.now));
  }

  /** Submits it. */
  enroll(schedule: SimSchedule): void {
    this.#world.schedules.set(schedule.id, schedule);
    this.#submit(schedule);
  }

  /** The same once more: it gets its first answer. */
  #again(): void {
    const made = [...this.#world.schedules.values()].slice(-5);
    if (made.length > 0) this.#submit(this.#random.pick(made));
  }

  call(name: Named, does: 'suspend' | 'resume' | 'trigger' | 'delete' | 'cancel'): void {
    this.open++;
    this.#send(name, does).then(
      () => void this.open--,
      (error: unknown) => {
        this.open--;
        const { reason = '', message } = error instanceof LtsError ? error : { message: String(error) };
        this.#world.trace(`${does} ${name.task_id} ${reason}`);
        if (!expected.has(reason)) this.#world.history.violate(0, `${does} of ${name.task_id} was answered ${reason} ${message}`);
      },
    );
  }

  async #send(name: Named, does: 'suspend' | 'resume' | 'trigger' | 'delete' | 'cancel'): Promise<void> {
    if (does === 'suspend') {
      const { schedule } = await this.#calls.suspend(name);
      if (schedule?.state === 'SCHEDULE_STATE_SUSPENDED') this.#holds(name, schedule);
    } else if (does === 'resume') await this.#calls.resume(name);
    else if (does === 'delete') await this.#calls.delete(name);
    else if (does === 'cancel') await cancelAtOwner(this.#parts, name, callMs).then(({ instance_ids }) => this.#world.history.cancelAcked(instance_ids, this.#world.scheduler.now));
    else {
      const instance_id = this.#newId();
      await this.#calls.trigger({ ...name, instance_id, ...(this.#random.chance(0.5) ? { ext_params: { by: 'hand' } } : {}) });
      if (!this.#world.db.tables.byId.has(instance_id)) this.#world.history.violate(1, `the run ${instance_id} by hand of ${name.task_id} was acked and is not stored`);
    }
  }

  /** 10: what was acked is so, or somebody has changed it since: an answer may be on its way for longer than another one of the task takes to be made. */
  #holds({ node_group: nodeGroup, task_id: taskId }: Named, { schedule_id: id, version }: Schedule__Output): void {
    const row = this.#world.db.tables.schedules.get(taskKey({ nodeGroup, taskId }));
    if (row === undefined || row.id !== id || row.state === 'SUSPENDED' || row.version > version) return;
    this.#world.history.violate(10, `${row.id} (${taskId}) was said to be suspended in version ${version} and is ${row.state} in version ${row.version}`);
  }
}
