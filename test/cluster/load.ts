import { JobClient, type JobClientOptions, type JobResult, type NewJob, type SubmitResult } from '../../services/job-client/index.js';
import { systemClock } from '../../shared/time/clock.js';
import { record } from '../checker/history.js';
import { type Cluster, group } from './cluster.js';

/** The group that is owed the results. */
export const clientGroup = 'clients';

const tickMs = 50;

/** A client that submits jobs and takes results, and records what it is promised and told. */
export class Load {
  readonly client: JobClient;
  /** Messages of submits that were refused or got no answer: nothing was promised for them. */
  readonly failures: string[] = [];
  /** Outcomes of the others, in order of the answers. */
  readonly acked: SubmitResult[] = [];
  /** Results that were handled, by instance. */
  readonly results = new Map<string, JobResult>();
  readonly #folder: string;
  #submitted = 0;
  #running: Promise<void> | undefined;
  #stopped = false;

  constructor(cluster: Cluster, options: Partial<JobClientOptions> = {}) {
    this.#folder = cluster.history;
    this.client = new JobClient({ ...(options.gateway === undefined ? { trackers: cluster.addresses } : {}), nodeGroup: clientGroup, submitTimeout: 20_000, ...options });
  }

  /** Submits one job, a quick one by default, and records the answer. Gives undefined when it was not taken. */
  async submit(job: Partial<NewJob> = {}): Promise<SubmitResult | undefined> {
    const full: NewJob = {
      type: 'quick',
      need_feedback: true,
      submit_node_group: clientGroup,
      ...job,
      task_id: job.task_id ?? `task-${++this.#submitted}`,
      node_group: job.node_group ?? group,
      ext_params: { ...job.ext_params, history: this.#folder },
    };
    try {
      const result = await this.client.submit(full);
      const id = result.instance_id ?? '';
      record(this.#folder, 'acked', { kind: 'acked', id, atMostOnce: full.on_worker_loss === 'FAIL', needFeedback: full.need_feedback ?? false });
      this.acked.push(result);
      return result;
    } catch (error) {
      this.failures.push(error instanceof Error ? error.message : String(error));
      return undefined;
    }
  }

  /** As submit, for a job that must be taken: gives its id. */
  async submitted(job: Partial<NewJob> = {}): Promise<string> {
    const result = await this.submit(job);
    if (result?.instance_id === undefined) throw new Error(`not taken: ${this.failures.at(-1)}`);
    return result.instance_id;
  }

  /** Takes results from now on. */
  receive(handler: (result: JobResult) => void | Promise<void> = () => undefined): { close(): Promise<void> } {
    return this.client.onResult(async (result) => {
      await handler(result);
      record(this.#folder, 'results', { kind: 'result', id: result.instance_id, state: result.state.replace('INSTANCE_STATE_', '') });
      this.results.set(result.instance_id, result);
    });
  }

  /** Submits so many jobs a second until stop(). */
  start(perSecond: number, job: () => Partial<NewJob> = () => ({})): void {
    this.#running = this.#run(perSecond, job);
  }

  /** Submits no more; resolves when all answers are there. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  async close(): Promise<void> {
    await this.stop();
    await this.client.close();
  }

  async #run(perSecond: number, job: () => Partial<NewJob>): Promise<void> {
    const out: Promise<unknown>[] = [];
    const begun = systemClock.monotonic();
    for (let sent = 0; !this.#stopped; await systemClock.sleep(tickMs)) {
      const owed = ((systemClock.monotonic() - begun) * perSecond) / 1_000;
      for (; sent < owed; sent++) out.push(this.submit(job()));
    }
    await Promise.all(out);
  }
}
