import { readdirSync, readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../shared/time/clock.js';
import { eventually } from '../kit/eventually.js';
import type { ServiceProcess } from '../kit/service-process.js';
import { Cluster, type ClusterOptions, type Tracker } from './cluster.js';
import { conclude } from './conclude.js';
import { Load } from './load.js';

/** A third of it all comes before the first look: by then heaps and caches have the size that they keep. */
const jobs = 10_000;
const perSecond = 700;
const perSecondLater = 200;
const atOnce = 500;
const workerRestarts = 7;
const ownerChanges = 4;
const workThreads = 16;
/** Connections to a process differ by one for each peer: whom a watcher of the map asks is left to chance. */
const peers = 7;
/** What garbage that is not collected yet may take, in MB. */
const slackMb = 60;
/** The heap is capped and the allocator keeps no arena per thread: what is measured is what is held, not what was not collected yet. */
const capped = { NODE_OPTIONS: '--max-old-space-size=128 --max-semi-space-size=4', MALLOC_ARENA_MAX: '2' };
/** It takes about a minute; a busy machine gets its time. */
const withinMs = 200_000;

interface Use {
  rssMb: number;
  files: number;
}

function useOf({ pid }: { pid: number }): Use {
  const kb = Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  return { rssMb: kb / 1024, files: readdirSync(`/proc/${pid}/fd`).length };
}

async function leaves(process: ServiceProcess | undefined): Promise<void> {
  const code = await process?.stop(withinMs);
  if (code !== 0) throw new Error(`it left with code ${code}: ${process?.output.slice(-1_000)}`);
}

/** Trackers, workers and a client on one store, where everything but one tracker and one worker comes and goes. */
class Churn {
  readonly cluster: Cluster;
  readonly load: Load;
  readonly #workers = new Map<string, ServiceProcess>();

  constructor(cluster: Cluster) {
    this.cluster = cluster;
    this.load = new Load(cluster, { submitTimeout: withinMs / 2 });
  }

  get survivor(): Tracker {
    return this.cluster.tracker('c');
  }

  get survivingWorker(): ServiceProcess {
    return this.#workers.get('w0') as ServiceProcess;
  }

  async begin(): Promise<void> {
    for (const name of ['w0', 'w1', 'w2', 'w3']) this.#workers.set(name, await this.cluster.startWorker(name, { workThreads, withinMs, env: capped }));
    this.load.receive();
  }

  /** So many jobs while workers and owners come and go; then nothing is under way, and the tracker that survives owns everything. */
  async phase(thirds: number): Promise<void> {
    await this.#undrain(['a', 'b']);
    let changing = true;
    const changes = Promise.all([this.restartWorkers(thirds * workerRestarts), this.changeOwners(thirds * ownerChanges)]).finally(() => (changing = false));
    await Promise.all([changes, this.submit(thirds * jobs, () => changing)]);
    await this.idle();
  }

  /**
   * Submits so many jobs, as fast as they are taken, but no faster than the pace; then fewer while `goOn`: where changes
   * take long, many more jobs would fill caches that the first look has not seen full.
   */
  async submit(count: number, goOn: () => boolean): Promise<void> {
    const begun = systemClock.monotonic();
    const dueMs = (place: number): number => (Math.min(place, count) / perSecond + Math.max(place - count, 0) / perSecondLater) * 1_000;
    let sent = 0;
    const one = async (): Promise<void> => {
      while (sent < count || goOn()) {
        const place = sent++;
        await systemClock.sleep(dueMs(place) - (systemClock.monotonic() - begun));
        if (place < count || goOn()) await this.load.submit();
      }
    };
    await Promise.all(Array.from({ length: atOnce }, one));
  }

  /** Restarts workers one after the other, killed and asked to leave in turns. */
  async restartWorkers(times: number): Promise<void> {
    for (let i = 0; i < times; i++) {
      const name = `w${1 + (i % 3)}`;
      const worker = this.#workers.get(name);
      if (i % 2 === 0) {
        worker?.kill();
        await worker?.exited();
      } else await leaves(worker);
      this.#workers.set(name, await this.cluster.startWorker(name, { workThreads, withinMs, env: capped }));
    }
  }

  /** Changes the owner again and again: killed, asked to leave, or, when it is the one that survives, drained. */
  async changeOwners(times: number): Promise<void> {
    for (let i = 0; i < times; i++) {
      const owner = await this.cluster.owner();
      if (owner === this.survivor) {
        await this.#drain([owner.name]);
        await this.#ownedByOthersThan(owner);
        await this.#undrain([owner.name]);
      } else {
        if (i % 2 === 0) await owner.kill();
        else await leaves(owner.process);
        await this.#ownedByOthersThan(owner);
        await owner.start(withinMs);
        await this.cluster.allKnown();
      }
    }
  }

  /** So that two moments can be compared. The others stay drained: they would get their share back. */
  async idle(): Promise<void> {
    await this.#drain(['a', 'b']);
    await this.cluster.evenly([this.survivor.name], withinMs);
    await this.cluster.allKnown();
    await this.cluster.workersConnected(4);
    const empty = async (): Promise<boolean> => (await this.survivor.admin.queues()).every(({ waiting, ready, executing, feedback }) => waiting + ready + executing + feedback === 0);
    await eventually(empty, { withinMs, everyMs: 100, what: 'the queues are empty' });
  }

  async watches(): Promise<number> {
    return Number(/Total watches:(\d+)/.exec((await this.cluster.zookeeper?.tell('wchs')) ?? '')?.[1]);
  }

  /** The registry may have no answer while this machine is busy. */
  async #drain(names: readonly string[]): Promise<void> {
    for (const name of names) await eventually(async () => (await this.survivor.admin.drain(name), true), { withinMs, everyMs: 200 });
  }

  async #undrain(names: readonly string[]): Promise<void> {
    for (const name of names) await eventually(async () => (await this.survivor.admin.undrain(name), true), { withinMs, everyMs: 200 });
  }

  #ownedByOthersThan(owner: Tracker): Promise<unknown> {
    return eventually(async () => (await this.cluster.owner()) !== owner, { withinMs, everyMs: 50, what: `another than ${owner.name} owns` });
  }
}

describe.each<[string, ClusterOptions]>([
  ['SQLite', {}],
  ['PostgreSQL', { store: 'postgres' }],
])('workers and owners come and go, on %s', (_, options) => {
  let churn: Churn;

  afterEach(async () => {
    await churn.load.close();
    await churn.cluster.stop();
  });

  it('of 30,000 jobs none is lost, and what survives holds no more than before', async () => {
    churn = new Churn(await Cluster.start({ trackers: 3, graceMs: 5_000, trackerEnv: () => capped, ...options }));
    const { cluster, load, survivor } = churn;
    await churn.begin();
    await churn.phase(1);
    const before = { tracker: useOf(survivor.process), worker: useOf(churn.survivingWorker), watches: await churn.watches() };

    const begun = systemClock.monotonic();
    await churn.phase(2);
    const tookMs = systemClock.monotonic() - begun;

    expect(load.failures.slice(0, 3)).toEqual([]);
    expect(load.acked.length).toBeGreaterThanOrEqual(3 * jobs);
    const fits = (now: Use, then: Use): boolean => now.rssMb < then.rssMb + slackMb && now.files <= then.files + peers;
    const now = (): { tracker: Use; worker: Use } => ({ tracker: useOf(survivor.process), worker: useOf(churn.survivingWorker) });
    await eventually(() => fits(now().tracker, before.tracker) && fits(now().worker, before.worker), { withinMs: 15_000, everyMs: 250, what: 'memory and files' }).catch(() => undefined);
    process.stdout.write(`churn: ${load.acked.length} jobs in ${Math.round(tookMs)} ms; before ${JSON.stringify(before)}, after ${JSON.stringify(now())}\n`);
    expect(fits(now().tracker, before.tracker)).toBe(true);
    expect(fits(now().worker, before.worker)).toBe(true);
    await eventually(async () => (await churn.watches()) === before.watches, { what: `${before.watches} watches, as before` });
    for (const { admin } of cluster.liveTrackers) expect((await admin.cluster()).repairs).toEqual([]);
    expect(await conclude(cluster, load, { wanted: ({ attempt }) => attempt > 1 })).toEqual([]);
  }, 2 * withinMs);
});
