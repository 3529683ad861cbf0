import type { LimitChange } from '../../services/job-tracker/dispatch/limit-setting.js';
import type { Random } from './random.js';
import type { SimTracker } from './sim-tracker.js';
import type { World } from './world.js';

const values = { backlog: [5, 50, 200], maxRunning: [1, 2, 4], startsPerSecond: [0.5, 2, 20] };
const none: LimitChange = { backlog: null, maxRunning: null, startsPerSecond: null };
const againMs = 1_000;

/** People who change what the cluster does while it works: limits of groups, and who takes part. */
export class Operators {
  readonly #world: World;
  readonly #random: Random;
  readonly #endsAt: number;

  constructor(world: World) {
    this.#world = world;
    this.#random = world.random.fork();
    this.#endsAt = world.settings.heals ? world.settings.faultsUntilMs : Number.POSITIVE_INFINITY;
    this.#next();
  }

  /** Drains a tracker, or brings it back. Who is not asked in time asks again. */
  drain(nodeId: string, on: boolean): void {
    const done = (): boolean => this.#drained.includes(nodeId) === on;
    const ask = (): void => {
      if (done()) return;
      this.#ask(`${on ? 'drain' : 'undrain'} ${nodeId}`, ({ core }) => (on ? core.drain.drain(nodeId) : core.drain.undrain(nodeId)));
      this.#world.scheduler.after(againMs, 'operator asks again', ask);
    };
    ask();
  }

  #next(): void {
    const { scheduler, settings } = this.#world;
    const inMs = this.#random.between(0, 2 * settings.operateEveryMs);
    if (scheduler.now + inMs >= this.#endsAt) {
      scheduler.at(this.#endsAt, 'operators undo what they did', () => this.#undo());
      return;
    }
    scheduler.after(inMs, 'operator', () => {
      this.#random.pick([() => this.#limits(), () => this.#limits(), () => this.#drains(), () => this.#undrains()])();
      this.#next();
    });
  }

  #limits(): void {
    const change: LimitChange = {};
    for (const name of ['backlog', 'maxRunning', 'startsPerSecond'] as const) if (this.#random.chance(0.6)) change[name] = this.#random.chance(0.3) ? null : this.#random.pick(values[name]);
    this.#limit(this.#random.pick(this.#world.groups), change);
  }

  /** Whoever is not the owner refuses. */
  #limit(nodeGroup: string, change: LimitChange): void {
    for (const tracker of this.#world.runningTrackers) this.#askOne(tracker, `limits of ${nodeGroup} ${JSON.stringify(change)}`, ({ core }) => core.limits.set(nodeGroup, change));
  }

  /** At times several at the same moment, each by another tracker. */
  #drains(): void {
    for (const { nodeId } of this.#world.trackers) if (this.#random.chance(0.5)) this.#ask(`drain ${nodeId}`, ({ core }) => core.drain.drain(nodeId));
  }

  #undrains(): void {
    for (const { nodeId } of this.#world.trackers) if (this.#random.chance(0.7)) this.#ask(`undrain ${nodeId}`, ({ core }) => core.drain.undrain(nodeId));
  }

  #undo(): void {
    if (this.#drained.length + this.#limited.length === 0) return;
    for (const nodeId of this.#drained) this.#ask(`undrain ${nodeId}`, ({ core }) => core.drain.undrain(nodeId));
    for (const nodeGroup of this.#limited) this.#limit(nodeGroup, none);
    this.#world.scheduler.after(againMs, 'operators undo what they did', () => this.#undo());
  }

  get #drained(): string[] {
    return this.#world.drainedTrackers();
  }

  get #limited(): string[] {
    return [...this.#world.db.tables.groups].filter(([, { limits }]) => limits !== undefined).map(([name]) => name);
  }

  #ask(what: string, call: (tracker: SimTracker) => Promise<unknown>): void {
    const running = this.#world.runningTrackers;
    if (running.length > 0) this.#askOne(this.#random.pick(running), what, call);
  }

  #askOne(tracker: SimTracker, what: string, call: (tracker: SimTracker) => Promise<unknown>): void {
    const { process } = tracker;
    const { scheduler } = this.#world;
    scheduler.after(this.#random.tail(5, 500), `operator ${what}`, () => {
      // A request that is not served comes as an answer, at once or later.
      void Promise.resolve()
        .then(() => call(tracker))
        .then(
          (answer) => this.#world.trace(`${process.name} answers ${what}: ${JSON.stringify(answer)}`),
          (error: unknown) => this.#world.trace(`${process.name} answers ${what}: ${String(error)}`),
        );
    }, process);
  }
}
