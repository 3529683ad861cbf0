import { LtsError } from '../../../shared/errors/lts-error.js';
import type { GroupQueue } from './owned-groups.js';

/** How many jobs of a group may wait: its own limit, or else that of the tracker. What is full takes nothing more. */
export class Backlog {
  readonly #limit: number;

  /** @param limit of a group that has none of its own */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** How many more may come; at most 0 when it is full. */
  room(group: GroupQueue): number {
    return this.#limitOf(group) - sizeOf(group);
  }

  /** Why a time does not run while it is full. */
  tell(group: GroupQueue): string {
    return `the backlog of group ${group.name} is full: ${sizeOf(group)} jobs wait, the limit is ${this.#limitOf(group)}`;
  }

  /** What a caller is told while it is full. */
  refusal(group: GroupQueue): LtsError {
    return new LtsError('BACKLOG_FULL', `group ${group.name} has ${sizeOf(group)} jobs waiting, the limit is ${this.#limitOf(group)}; add workers, wait, or raise it with "lts queue limit ${group.name} --backlog N"`);
  }

  #limitOf(group: GroupQueue): number {
    return group.gate.limits.backlog ?? this.#limit;
  }
}

/** Also what is on its way into the store. */
function sizeOf({ waiting, readyCount, admitting }: GroupQueue): number {
  return waiting + readyCount + admitting;
}
