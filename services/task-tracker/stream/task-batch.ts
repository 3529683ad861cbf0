import type { RawTask } from './work-session.js';
import type { TaskFacts } from '../run/run.js';

/** Parts the ids of a batch; no id may hold it. */
export const idSeparator = '\n';

/*
 * Tasks on their way from the stream thread to the main thread. They are packed, because copying one object or even one
 * array entry per task between threads costs more than all else that happens to a task on its way.
 */

/** Tasks to run now. */
export interface TaskBatch {
  count: number;
  /** Their instance ids, parted by idSeparator. */
  ids: string;
  /** For each task in turn: handle, attempt, scheduled time, fencing token, retry times, end of its job in `jobs`. */
  numbers: Float64Array;
  /** The bytes of the jobs one after the other. */
  jobs: Uint8Array;
}

const width = 6;

/** Gathers the accepted tasks of one frame. */
export class TaskBatchWriter {
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

  /** Its two buffers are its own and can be handed over. */
  finish(): TaskBatch {
    const tasks = this.#tasks;
    const numbers = new Float64Array(tasks.length * width);
    const jobs = new Uint8Array(this.#jobBytes);
    let at = 0;
    let end = 0;
    for (let i = 0; i < tasks.length; i++) {
      const task = tasks[i] as RawTask;
      jobs.set(task.job, end);
      end += task.job.length;
      numbers[at++] = this.#handles[i] as number;
      numbers[at++] = task.attempt;
      numbers[at++] = task.scheduled_time;
      numbers[at++] = task.fencing_token;
      numbers[at++] = task.retry_times;
      numbers[at++] = end;
    }
    return { count: tasks.length, ids: tasks.map((task) => task.instance_id).join(idSeparator), numbers, jobs };
  }
}

/** Calls with each task and the bytes of its job, in order. */
export function readTasks(batch: TaskBatch, take: (facts: TaskFacts, job: Buffer) => void): void {
  const ids = batch.ids.split(idSeparator);
  const { numbers } = batch;
  const jobs = Buffer.from(batch.jobs.buffer, batch.jobs.byteOffset, batch.jobs.byteLength);
  let at = 0;
  let from = 0;
  for (let i = 0; i < batch.count; i++) {
    const facts = {
      handle: numbers[at++] as number,
      instanceId: ids[i] as string,
      attempt: numbers[at++] as number,
      scheduledTime: numbers[at++] as number,
      fencingToken: numbers[at++] as number,
      retryTimes: numbers[at++] as number,
    };
    const to = numbers[at++] as number;
    take(facts, jobs.subarray(from, to));
    from = to;
  }
}
