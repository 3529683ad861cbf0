import type { Enroll, Fire, FireRun, PassedTime } from '../../queue-store.js';
import { stateCodes } from '../codes.js';
import { policyText } from '../policy-text.js';
import { ArrayText } from './array-text.js';
import { Places } from './places.js';
import { WorkerPlaces } from './worker-places.js';

/*
 * Enrolls and fires that follow each other go in as one row each, so that the store takes them together. What names the
 * same task, schedule or id goes into the next one.
 */

/** Enrolls of one row. */
export class EnrollSet {
  readonly #rows: object[] = [];
  readonly #names = new Set<string>();
  readonly #clients = new Places();

  get size(): number {
    return this.#rows.length;
  }

  meets({ id, nodeGroup, taskId }: Enroll): boolean {
    return this.#names.has(id) || this.#names.has(`${nodeGroup}\0${taskId}`);
  }

  /** @param group place of its name among the groups of the batch */
  add(t: Enroll, ord: number, group: number): void {
    const { id, clientId: mine, partition: part, taskId: task, type, priority, createdAt: created, needFeedback: feedback, replaceOnExist: replaces, plan, nextAt: next } = t;
    const policy = policyText(t.policy);
    this.#names.add(id).add(`${t.nodeGroup}\0${task}`);
    this.#rows.push({
      ord, id, mine, part, group, task, type, priority, created, feedback, replaces, plan, next, late: t.fromFailStore === true, job: t.job.toString('base64'),
      ...(t.submitNodeGroup === '' ? {} : { client: this.#clients.of(t.submitNodeGroup) }), ...(policy === '' ? {} : { policy }),
    });
  }

  texts(): [enrolls: string, clients: string] {
    return [JSON.stringify(this.#rows), ArrayText.of(this.#clients.names())];
  }
}

/** Fires of one row. */
export class FireSet {
  readonly #rows: object[] = [];
  readonly #scheds = new Set<number>();
  readonly #ids = new Set<string>();
  readonly #workers = new WorkerPlaces();
  #usedAt = 0;
  #most = 0;

  get size(): number {
    return this.#rows.length;
  }

  /** The last moment at which its workers got something. */
  get usedAt(): number {
    return this.#usedAt;
  }

  /** Times of the fire that has the most. */
  get most(): number {
    return this.#most;
  }

  meets({ sched, runs, passed }: Fire): boolean {
    return this.#scheds.has(sched) || [...runs, ...passed].some(({ id }) => this.#ids.has(id));
  }

  add(t: Fire, ord: number): void {
    const { partition: part, sched, version, from: was, nextAt: next, over, at, runs, passed } = t;
    const counting = runs.filter(({ counts }) => counts).map(({ scheduledAt }) => scheduledAt);
    const times = [...runs.map((run) => this.#run(run)), ...passed.map(passedTime)];
    this.#scheds.add(sched);
    for (const { id } of [...runs, ...passed]) this.#ids.add(id);
    this.#usedAt = Math.max(this.#usedAt, at);
    this.#most = Math.max(this.#most, times.length);
    this.#rows.push({
      ord, part, sched, version, was, next, over, at, times, counted: counting.length, ...(counting.length === 0 ? {} : { last: Math.max(...counting) }),
    });
  }

  texts(): [fires: string, workers: string] {
    return [JSON.stringify(this.#rows), this.#workers.text()];
  }

  #run({ id, taskKey: key, scheduledAt: time, held, start, job }: FireRun): object {
    const row = { id, key, time, ...(job === undefined ? {} : { job: job.toString('base64') }) };
    if (held) return { ...row, state: stateCodes.WAITING };
    if (start === undefined) return { ...row, state: stateCodes.READY };
    return { ...row, state: stateCodes.EXECUTING, worker: this.#workers.of(start.worker), fence: start.fence };
  }
}

function passedTime({ id, taskKey: key, scheduledAt: time, state, message }: PassedTime): object {
  return { id, key, time, message, state: stateCodes[state] };
}
