import type { TaskColumns } from './messages.js';
import type { RawTask } from './work-session.js';

/** Gathers the accepted tasks of one frame for the thread that runs them. */
export class Intake {
  readonly #tasks: RawTask[] = [];
  readonly #handles: number[] = [];
  #jobBytes = 0;

  get count(): number {
    return this.#tasks.length;
  }

  add(handle: number, task: RawTask): void {
    this.#tasks.push(task);
    this.#handles.push(handle);
    this.#jobBytes += task.job.length;
  }

  /** The jobs are copied into memory of their own, which can be handed over without another copy. */
  columns(): TaskColumns {
    const tasks = this.#tasks;
    const jobs = new Uint8Array(this.#jobBytes);
    const jobEnds: number[] = [];
    let end = 0;
    for (const { job } of tasks) {
      jobs.set(job, end);
      end += job.length;
      jobEnds.push(end);
    }
    return {
      handles: this.#handles,
      instanceIds: tasks.map((task) => task.instance_id),
      attempts: tasks.map((task) => task.attempt),
      scheduledTimes: tasks.map((task) => task.scheduled_time),
      fencingTokens: tasks.map((task) => task.fencing_token),
      retryTimes: tasks.map((task) => task.retry_times),
      jobs,
      jobEnds,
    };
  }
}
