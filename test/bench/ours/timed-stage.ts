import { Child } from '../frame/child.js';
import { machineNow } from '../frame/machine-clock.js';
import { storeParent } from '../frame/disk.js';
import type { Options } from '../options.js';
import { allOwn, startTrackers, type Trackers } from './servers.js';
import type { LtsSettings } from './settings.js';
import type { TimedJobs, TimedSettings } from './timed-jobs.js';

const workThreads = 1_000;
const longestStartMs = 300_000;

/** One tracker with jobs that wait for their time, and whoever submits and runs them. */
export class TimedStage {
  readonly producer: Child;
  readonly worker: Child;
  readonly #trackers: Trackers;
  readonly #groups: number;

  private constructor(trackers: Trackers, groups: number) {
    this.#trackers = trackers;
    this.#groups = groups;
    this.producer = new Child(new URL('./timed-producer.js', import.meta.url));
    this.worker = new Child(new URL('./timed-worker.js', import.meta.url));
  }

  static async start({ store, groups, payload }: Options): Promise<TimedStage> {
    const trackers = await startTrackers({ parent: storeParent(), store, trackers: 1 });
    const stage = new TimedStage(trackers, groups);
    await stage.producer.call('open', { trackers: trackers.addresses, groups, payload: 'x'.repeat(payload) } satisfies Pick<LtsSettings, 'trackers'> & TimedSettings);
    return stage;
  }

  get trackerPid(): number {
    return this.#trackers.servers[0]?.pid ?? -1;
  }

  /** Gives how many a second were acked. */
  submit(jobs: TimedJobs): Promise<number> {
    return this.producer.call('submit', jobs);
  }

  openWorker(): Promise<void> {
    const { addresses, folder } = this.#trackers;
    return this.worker.call('open', { trackers: addresses, folder, groups: this.#groups, workThreads } satisfies LtsSettings);
  }

  /** Stops the tracker in order and starts it again; gives the milliseconds until it owns all partitions. */
  async restart(): Promise<number> {
    const [server] = this.#trackers.servers;
    await server?.kill('SIGTERM');
    const begun = machineNow();
    server?.restart();
    await allOwn(this.#trackers.addresses, longestStartMs);
    return machineNow() - begun;
  }

  async stop(): Promise<void> {
    await this.producer.end();
    await this.worker.end();
    await this.#trackers.stop();
  }
}
