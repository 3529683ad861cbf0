import { status, type ServiceError } from '@grpc/grpc-js';
import { connectionText } from '../../../shared/errors/connection-text.js';
import { fromGrpcError, reasonKey } from '../../../shared/errors/grpc-status.js';
import { LtsError } from '../../../shared/errors/lts-error.js';
import type { Reason } from '../../../shared/errors/reasons.js';
import { backoffMs } from '../../../shared/time/backoff.js';
import type { Clock } from '../../../shared/time/clock.js';
import type { Router } from './router.js';

/** Another try, maybe elsewhere, can help; the same ids make it safe. */
const passing = new Set<Reason>(['NOT_OWNER', 'LOADING', 'DRAINING', 'NO_TRACKER', 'STORE_LOCKED', 'STORE_FAILED', 'STALE_EPOCH', 'DEADLINE_PASSED', 'CANCELLED']);

/** The address is the right one; it only needs time. */
const staying = new Set<Reason>(['LOADING', 'STORE_LOCKED', 'STORE_FAILED']);

/** Whether it is worth to try again with the same ids. */
export function isPassing(reason: string): boolean {
  return passing.has(reason as Reason);
}

const brokenCodes = new Set([status.UNAVAILABLE, status.CANCELLED, status.INTERNAL, status.UNKNOWN]);

/** The error of a call to this address. What no tracker said, but the connection, is NO_TRACKER. */
export function toCallError(error: unknown, address: string): LtsError {
  const { code, metadata, details } = error as Partial<ServiceError>;
  const told = (metadata?.get(reasonKey).length ?? 0) > 0;
  if (!told && code !== undefined && brokenCodes.has(code)) {
    return new LtsError('NO_TRACKER', `${address} does not answer: ${connectionText(details ?? String(error))}; start a JobTracker, or check --trackers`, { cause: error });
  }
  if (code === status.DEADLINE_EXCEEDED) return new LtsError('DEADLINE_PASSED', `${address} did not answer in time; the outcome is not known, send the same ids again`, { cause: error });
  return fromGrpcError(error);
}

/**
 * One request, or one batch for many groups, on its way to the owners: which addresses failed, which do not own which
 * group, how often it paused, when it must end.
 */
export class Journey {
  readonly #router: Router;
  readonly #clock: Clock;
  readonly #until: number;
  readonly #failed = new Set<string>();
  /** By group: who does not own it, and was not named as its owner since. */
  readonly #refused = new Map<string, Set<string>>();
  /** By group: whom a tracker named as its owner. */
  readonly #told = new Map<string, string>();
  #pauses = 0;
  #hops = 0;

  constructor(router: Router, clock: Clock, timeoutMs: number) {
    this.#router = router;
    this.#clock = clock;
    this.#until = clock.monotonic() + timeoutMs;
  }

  /** Longest time for one try: while others can be tried, a silent tracker must not use up all of it. */
  get tryMs(): number {
    const left = Math.max(this.#until - this.#clock.monotonic(), 1);
    return this.#router.trackers.length > 1 ? Math.max(left * 0.5, Math.min(left, 250)) : left;
  }

  /** Whether time is up. */
  get isOver(): boolean {
    return this.#clock.monotonic() >= this.#until;
  }

  /**
   * Where to send what concerns the group; undefined when no address is known. What names no group goes to an owner too:
   * only owners know workers and queues.
   */
  pick(nodeGroup: string): string | undefined {
    const refused = this.#refused.get(nodeGroup);
    const mayTry = (address: string): boolean => !this.#failed.has(address) && refused?.has(address) !== true;
    const owner = this.#told.get(nodeGroup) ?? this.#router.ownerOf(nodeGroup);
    if (owner !== undefined && mayTry(owner)) return owner;
    const { trackers } = this.#router;
    const other = trackers.find(mayTry);
    if (other === undefined) refused?.clear();
    return other ?? owner ?? trackers[0];
  }

  /** The address did not take it, for this reason; others are tried first, where that can help. */
  failed(address: string, reason: Reason): void {
    if (staying.has(reason)) return;
    this.#failed.add(address);
    // Who named it may not know yet that it is gone.
    for (const [nodeGroup, owner] of this.#told) if (owner === address) this.#told.delete(nodeGroup);
    this.#router.noteUnreachable(address);
  }

  /** The address does not own the group. Gives whether it named an owner to which it is worth to go at once. */
  follow(nodeGroup: string, address: string, owner: string): boolean {
    this.#told.delete(nodeGroup);
    const refused = this.#refused.get(nodeGroup) ?? new Set();
    this.#refused.set(nodeGroup, refused.add(address));
    if (owner === '' || owner === address) return false;
    this.#told.set(nodeGroup, owner);
    // It may have refused while it took the group over: who names it knows better.
    refused.delete(owner);
    // What names no group goes to whom it concerns this time.
    if (nodeGroup !== '') this.#router.noteOwner(nodeGroup, owner);
    return !this.#failed.has(owner) && this.#hops < 4;
  }

  /** Before the next round. `progress`: it goes to an address that was not tried. False when time is up. */
  async next(progress: boolean): Promise<boolean> {
    const left = this.#until - this.#clock.monotonic();
    if (left <= 0) return false;
    if (progress && this.#hops < 4) {
      this.#hops++;
      return true;
    }
    const untried = this.#router.trackers.some((address) => !this.#failed.has(address));
    if (!untried) this.#failed.clear();
    // It failed before, but somebody says that it is the owner now.
    for (const owner of this.#told.values()) this.#failed.delete(owner);
    const pause = backoffMs(this.#pauses++, untried ? 10 : 50, 500);
    await this.#clock.sleep(Math.min(pause, left));
    return pause < left;
  }
}
