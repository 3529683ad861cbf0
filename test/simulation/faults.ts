import type { Random } from './random.js';
import type { Process } from './scheduler.js';
import type { Refusal } from './store/faulty-lane.js';
import type { World } from './world.js';

/** Everything that goes wrong, at times and places that the seed chooses. */
export class Faults {
  readonly #world: World;
  readonly #random: Random;
  readonly #kinds: readonly (readonly [string, () => void])[];
  readonly #endsAt: number;
  #aheadMs = 0;

  constructor(world: World) {
    this.#world = world;
    this.#random = world.random.fork();
    this.#endsAt = world.settings.heals ? world.settings.faultsUntilMs : Number.POSITIVE_INFINITY;
    this.#kinds = [
      ['tracker dies', () => this.#trackerDies()],
      ['tracker dies', () => this.#trackerDies()],
      ['tracker leaves', () => this.#trackerLeaves()],
      ['tracker stands still', () => this.#standStill(this.#tracker()?.process)],
      ['worker dies', () => this.#workerDies()],
      ['worker dies', () => this.#workerDies()],
      ['worker leaves', () => this.#workerLeaves()],
      ['worker stands still', () => this.#standStill(this.#worker()?.process)],
      ['worker is blocked', () => this.#workerIsBlocked()],
      ['receiver dies', () => this.#receiverDies()],
      ['receiver stands still', () => this.#standStill(this.#random.pick(this.#world.receivers).running?.process)],
      ['link is cut', () => this.#linkIsCut()],
      ['link is cut', () => this.#linkIsCut()],
      ['host is cut off', () => this.#hostIsCutOff()],
      ['connection is lost', () => this.#world.network.cutOne()],
      ['connection is lost', () => this.#world.network.cutOne()],
      ['store connection breaks', () => this.#tracker()?.lane.breakDown('the connection broke')],
      ['store connection breaks', () => this.#tracker()?.lane.breakDown('the connection broke')],
      ['store is slow', () => this.#storeIsSlow()],
      ['store refuses', () => this.#storeRefuses()],
      ['store restarts', () => this.#storeRestarts()],
      ['registry is cut', () => this.#registryIsCut()],
      ['registry is away', () => this.#registryIsAway()],
      ['clock is set', () => this.#clockIsSet()],
    ];
    for (const tracker of world.runningTrackers) tracker.lane.lateUntil = this.#endsAt;
    this.#next();
  }

  /** All clocks are right again, and so late that what was put off by wrong ones is due. To be called again: jobs that end meanwhile are put off once more. */
  setClocks(): void {
    this.#aheadMs += (this.#aheadMs === 0 ? this.#world.settings.stepMs : Math.min(this.#world.settings.stepMs, 3_600_000)) + 60_000;
    for (const wall of this.#world.walls) wall.set(this.#aheadMs);
  }

  #next(): void {
    const { scheduler, settings } = this.#world;
    const inMs = this.#random.between(0, 2 * settings.faultEveryMs);
    if (scheduler.now + inMs >= this.#endsAt) return;
    scheduler.after(inMs, 'fault', () => {
      const [name, strike] = this.#random.pick(this.#kinds);
      this.#world.trace(`FAULT ${name}`);
      strike();
      this.#next();
    });
  }

  /** Undoes it after a while, at the latest when the faults end. */
  #undo(mostMs: number, what: string, undo: () => void): void {
    const { scheduler } = this.#world;
    const forMs = this.#random.chance(0.3) ? this.#random.between(0, mostMs) : this.#random.between(0, mostMs / 5);
    scheduler.at(Math.min(scheduler.now + forMs, this.#endsAt), `HEAL ${what}`, undo);
  }

  #tracker(): World['runningTrackers'][number] | undefined {
    const running = this.#world.runningTrackers;
    return running.length === 0 ? undefined : this.#random.pick(running);
  }

  #worker(): World['runningWorkers'][number] | undefined {
    const running = this.#world.runningWorkers;
    return running.length === 0 ? undefined : this.#random.pick(running);
  }

  #trackerDies(): void {
    const site = this.#random.pick(this.#world.trackers);
    if (site.running === undefined) return;
    site.running.crash(this.#random.chance(0.3));
    site.running = undefined;
    this.#undo(30_000, `${site.nodeId} starts`, () => this.#startTracker(site));
  }

  #startTracker(site: World['trackers'][number]): void {
    if (site.running !== undefined) return;
    this.#world.startTracker(site).lane.lateUntil = this.#endsAt;
  }

  #trackerLeaves(): void {
    const site = this.#random.pick(this.#world.trackers);
    const { running } = site;
    if (running === undefined || running.leaving || running.process.paused) return;
    void running.leave();
    this.#undo(20_000, `${site.nodeId} starts`, () => {
      // What has not left by now is ended, as by an impatient operator.
      if (site.running === running && running.process.alive) running.crash(false);
      if (site.running === running) site.running = undefined;
      this.#startTracker(site);
    });
  }

  #workerDies(): void {
    const site = this.#random.pick(this.#world.workers);
    if (site.running === undefined) return;
    if (site.running.process.alive) site.running.crash(this.#random.chance(0.3));
    site.running = undefined;
    this.#undo(30_000, `${site.place.nodeId} starts`, () => {
      if (site.running === undefined) this.#world.startWorker(site);
    });
  }

  #receiverDies(): void {
    const site = this.#random.pick(this.#world.receivers);
    if (site.running === undefined) return;
    site.running.crash(this.#random.chance(0.3));
    site.running = undefined;
    this.#undo(30_000, `${site.place.nodeId} starts`, () => this.#world.startReceiver(site));
  }

  #workerLeaves(): void {
    const site = this.#random.pick(this.#world.workers);
    const { running } = site;
    if (running === undefined || running.leaving || running.process.paused) return;
    void running.leave();
    this.#undo(60_000, `${site.place.nodeId} starts`, () => {
      if (site.running !== running) return;
      if (running.process.alive) running.crash(false);
      this.#world.startWorker(site);
    });
  }

  #standStill(process: Process | undefined): void {
    if (process === undefined || process.paused || !process.alive) return;
    const { scheduler, network } = this.#world;
    const tracker = this.#world.runningTrackers.find((each) => each.process === process);
    scheduler.pause(process);
    network.paused(process);
    const back = tracker?.registry.cut();
    this.#undo(40_000, `${process.name} goes on`, () => {
      scheduler.resume(process);
      back?.();
    });
  }

  #workerIsBlocked(): void {
    const worker = this.#worker();
    if (worker !== undefined) worker.blockedUntil = Math.min(this.#world.scheduler.now + this.#random.between(0, 20_000), this.#endsAt);
  }

  /** Between a tracker and another process, in one direction or both. */
  #linkIsCut(): void {
    const tracker = this.#random.pick(this.#world.trackers).nodeId;
    const other = this.#random.pick(this.#world.callers);
    const { links } = this.#world.network;
    const way = this.#random.int(0, 2);
    const free = [...(way === 1 ? [] : [links.block(tracker, other)]), ...(way === 0 ? [] : [links.block(other, tracker)])];
    this.#undo(40_000, `link ${tracker} ${other}`, () => {
      for (const each of free) each();
    });
  }

  /** A tracker reaches no worker and no client, or is not reached by them. */
  #hostIsCutOff(): void {
    const tracker = this.#random.pick(this.#world.trackers).nodeId;
    const { links } = this.#world.network;
    const way = this.#random.int(0, 2);
    const free = this.#world.callers.flatMap((other) => [...(way === 1 ? [] : [links.block(tracker, other)]), ...(way === 0 ? [] : [links.block(other, tracker)])]);
    this.#undo(40_000, `host ${tracker}`, () => {
      for (const each of free) each();
    });
  }

  #storeIsSlow(): void {
    const tracker = this.#tracker();
    if (tracker === undefined) return;
    tracker.lane.slowUntil = Math.min(this.#world.scheduler.now + this.#random.between(500, 15_000), this.#endsAt);
  }

  #storeRefuses(): void {
    const lane = this.#tracker()?.lane;
    if (lane === undefined) return;
    lane.refusing = this.#random.pick<Refusal>(['STORE_LOCKED', 'STORE_FAILED', 'DISK_LOW']);
    this.#undo(10_000, 'store takes calls', () => (lane.refusing = undefined));
  }

  /** What was committed stays; every connection breaks. */
  #storeRestarts(): void {
    const lanes = this.#world.runningTrackers.map(({ lane }) => lane);
    for (const lane of lanes) {
      lane.breakDown('the server restarts');
      lane.refusing = 'STORE_FAILED';
    }
    this.#undo(10_000, 'store is back', () => {
      for (const lane of lanes) lane.refusing = undefined;
    });
  }

  #registryIsCut(): void {
    const tracker = this.#tracker();
    if (tracker !== undefined) this.#undo(40_000, 'registry link', tracker.registry.cut());
  }

  #registryIsAway(): void {
    const back = this.#world.runningTrackers.map(({ registry }) => registry.cut());
    this.#undo(40_000, 'registry', () => {
      for (const each of back) each();
    });
  }

  #clockIsSet(): void {
    const { stepMs } = this.#world.settings;
    this.#random.pick(this.#world.walls).set(this.#random.between(-stepMs, stepMs));
  }
}
