import type { Ownership } from '../lead/ownership.js';
import type { CommitPipeline } from '../queue/commit-pipeline.js';
import type { OwnedGroups } from '../queue/owned-groups.js';
import type { GroupLimits } from '../queue/queue-store.js';
import type { Dispatcher } from './dispatcher.js';

/** Limits to set; null removes one, what is not named stays. */
export type LimitChange = { [name in keyof GroupLimits]?: number | null };

/** Changes the limits of groups: stored first, then followed. */
export class LimitSetting {
  readonly #ownership: Ownership;
  readonly #groups: OwnedGroups;
  readonly #pipeline: CommitPipeline;
  readonly #dispatcher: Dispatcher;
  #last: Promise<unknown> = Promise.resolve();

  constructor(ownership: Ownership, groups: OwnedGroups, pipeline: CommitPipeline, dispatcher: Dispatcher) {
    this.#ownership = ownership;
    this.#groups = groups;
    this.#pipeline = pipeline;
    this.#dispatcher = dispatcher;
  }

  /** Gives what holds then. One change at a time: each goes on from what the one before has left. */
  set(nodeGroup: string, change: LimitChange): Promise<GroupLimits> {
    const done = this.#last.then(() => this.#set(nodeGroup, change));
    this.#last = done.catch(() => undefined);
    return done;
  }

  #set(nodeGroup: string, change: LimitChange): Promise<GroupLimits> {
    const partition = this.#ownership.require(nodeGroup);
    const limits = changed(this.#groups.group(nodeGroup, partition).gate.limits, change);
    return new Promise((resolve, reject) => {
      this.#pipeline.add({ kind: 'limit', partition, nodeGroup, limits }, (_outcome, error) => {
        if (error !== undefined) return reject(error);
        const group = this.#groups.group(nodeGroup, partition);
        this.#groups.limit(group, limits);
        this.#dispatcher.dispatch(group);
        resolve(limits);
      });
    });
  }
}

function changed(before: GroupLimits, change: LimitChange): GroupLimits {
  const pick = (name: keyof GroupLimits): number | undefined => (change[name] === undefined ? before[name] : (change[name] ?? undefined));
  return { backlog: pick('backlog'), maxRunning: pick('maxRunning'), startsPerSecond: pick('startsPerSecond') };
}
