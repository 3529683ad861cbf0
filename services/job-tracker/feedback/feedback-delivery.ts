import type { LtsError } from '../../../shared/errors/lts-error.js';
import type { Logger } from '../../../shared/log/logger.js';
import { backoffMs } from '../../../shared/time/backoff.js';
import type { Clock } from '../../../shared/time/clock.js';
import type { OwnedGroups } from '../queue/owned-groups.js';
import type { FeedbackRow, FeedbackSettlement, QueueStore } from '../queue/queue-store.js';
import type { Receiver } from './receiver.js';

/** Rows of one group that are read ahead. */
const readAhead = 500;
/** A frame has so many rows at most, and ends with the row that takes its messages beyond so many bytes. */
const frameRows = 100;
const frameBytes = 1024 * 1024;
/** What is not acked for so long counts as failed and is sent again. */
const ackWithinMs = 30_000;
/** After so many failures a result goes to the dead list. */
export const mostFailures = 20;
const sweepMs = 1_000;

interface Delivery {
  row: FeedbackRow;
  receiver: Receiver;
  until: number;
}

interface Group {
  receivers: Set<Receiver>;
  /** Read and not sent yet, oldest first. */
  waiting: FeedbackRow[];
  inFlight: Map<string, Delivery>;
  /** Settled, on the way into the store: not to be read again. */
  settling: Set<string>;
  readUpTo: number;
  mayHaveMore: boolean;
  reading: boolean;
  /** Grows when reading begins anew: what an older read brings is left out. */
  generation: number;
  /** The oldest due result when it was looked for last and found to be nowhere. */
  passedOver: string | undefined;
}

/**
 * Results owed to JobClients until they are acked.
 *
 * A result is a row of the store from the commit that ended its instance. States: owed → in flight (sent to one
 * receiver of its group) → taken (row deleted) or failed (back-off, then owed again) → dead after 20 failures, until it
 * is resent by hand. The store owns the rows, this class only what is in flight; whatever is lost here (a restart, a
 * receiver that leaves, a partition that moves) is still owed there and read again. A tracker delivers the results of
 * its own partitions only, and a receiver has a stream to every tracker. Delivery is at least once, with the instance id
 * each time.
 */
export class FeedbackDelivery {
  readonly #store: Pick<QueueStore, 'readFeedback' | 'settleFeedback'>;
  /** Of its partitions the results are delivered. */
  readonly #owned: Pick<OwnedGroups, 'partitions' | 'partitionOf'>;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #groups = new Map<string, Group>();
  #settlement: FeedbackSettlement = { taken: [], failed: [] };
  #settling = false;
  /** Called when the next settlement is over. */
  readonly #awaiting: (() => void)[] = [];

  constructor(store: Pick<QueueStore, 'readFeedback' | 'settleFeedback'>, owned: Pick<OwnedGroups, 'partitions' | 'partitionOf'>, clock: Clock, log: Logger) {
    this.#store = store;
    this.#owned = owned;
    this.#clock = clock;
    this.#log = log;
  }

  receivers(): Receiver[] {
    return [...this.#groups.values()].flatMap((group) => [...group.receivers]);
  }

  /** A receiver is there. */
  add(receiver: Receiver): void {
    const group = this.#group(receiver.submitNodeGroup);
    group.receivers.add(receiver);
    this.#log.info('client.online', { group: receiver.submitNodeGroup, client: receiver.clientId });
    this.#rewind(group);
    this.#deliver(receiver.submitNodeGroup, group);
  }

  /** The receiver left: what it had goes to the others. */
  remove(receiver: Receiver): void {
    const group = this.#groups.get(receiver.submitNodeGroup);
    if (group === undefined || !group.receivers.delete(receiver)) return;
    this.#log.info('client.offline', { group: receiver.submitNodeGroup, client: receiver.clientId });
    for (const [id, delivery] of group.inFlight) if (delivery.receiver === receiver) group.inFlight.delete(id);
    this.#rewind(group);
    if (group.receivers.size === 0) this.#groups.delete(receiver.submitNodeGroup);
    else this.#deliver(receiver.submitNodeGroup, group);
  }

  /** A result of the group is owed since the last commit. */
  owed(submitNodeGroup: string): void {
    const group = this.#groups.get(submitNodeGroup);
    if (group === undefined) return;
    group.mayHaveMore = true;
    this.#deliver(submitNodeGroup, group);
  }

  /** The receiver's stream takes frames again. */
  drained(receiver: Receiver): void {
    const group = this.#groups.get(receiver.submitNodeGroup);
    if (group !== undefined) this.#deliver(receiver.submitNodeGroup, group);
  }

  /** What the handler of a receiver made of results. Unknown ids are settled already. */
  settle(receiver: Receiver, taken: readonly string[], failures: readonly { id: string; message: string }[]): void {
    const group = this.#groups.get(receiver.submitNodeGroup);
    if (group === undefined) return;
    for (const id of taken) {
      if (this.#leave(group, receiver, id) === undefined) continue;
      group.settling.add(id);
      this.#settlement.taken.push(id);
    }
    for (const { id, message } of failures) {
      const row = this.#leave(group, receiver, id);
      if (row !== undefined) this.#fail(group, row, message);
    }
    this.#flush();
    this.#deliver(receiver.submitNodeGroup, group);
  }

  /** Calls back when the store has answered to all that receivers said so far. */
  whenSettled(callback: () => void): void {
    this.#awaiting.push(callback);
    this.#flush();
  }

  /** A partition is owned since now: what its jobs owe may be older than what was read. */
  adopted(): void {
    for (const [name, group] of this.#groups) {
      this.#rewind(group);
      this.#deliver(name, group);
    }
  }

  /** Partitions are not owned any more: their owner delivers what their jobs owe. Acks that still come change nothing. */
  dropped(): void {
    for (const group of this.#groups.values()) {
      for (const { row, receiver } of group.inFlight.values()) if (!this.#isOwn(row)) this.#leave(group, receiver, row.id);
      this.#rewind(group);
    }
  }

  hasReceiver(submitNodeGroup: string): boolean {
    return (this.#groups.get(submitNodeGroup)?.receivers.size ?? 0) > 0;
  }

  /**
   * Looks whether the oldest result that is due was passed over: it was committed after one that is younger and was read
   * first, say. When two looks have found the same one, reading begins anew. `found` is told of it, unless it only waited
   * for its next delivery. To be called every few seconds.
   */
  findPassedOver(found: (submitNodeGroup: string, id: string) => void): void {
    for (const [name, group] of this.#groups) {
      if (group.reading || group.readUpTo === 0) continue;
      const { generation } = group;
      this.#store.readFeedback(name, [...this.#owned.partitions.keys()], 0, this.#clock.now(), 1).then(
        ([row]) => {
          const { passedOver } = group;
          group.passedOver = undefined;
          if (row === undefined || group.generation !== generation || row.seq > group.readUpTo || this.#isKnown(group, row.id)) return;
          group.passedOver = row.id;
          // It may have been settled while it was read: it is not found again then.
          if (passedOver !== row.id) return;
          this.#rewind(group);
          if (row.deliveries === 0) found(name, row.id);
          this.#deliver(name, group);
        },
        (error: unknown) => this.#log.warn('store.failed', { operation: 'readFeedback', error }),
      );
    }
  }

  #isKnown(group: Group, id: string): boolean {
    return group.inFlight.has(id) || group.settling.has(id) || group.waiting.some((row) => row.id === id);
  }

  /** Sends away all receivers; the rows stay owed. */
  dropAll(error: LtsError): void {
    for (const receiver of this.receivers()) receiver.end(error);
    this.#groups.clear();
  }

  /** Looks for acks that are overdue and for results whose back-off is over. To be called about every second. */
  sweep(): void {
    const now = this.#clock.monotonic();
    for (const [name, group] of this.#groups) {
      for (const { row, receiver, until } of group.inFlight.values()) {
        if (until > now) continue;
        this.#leave(group, receiver, row.id);
        // The others are asked first from now on: it may stand still for ever.
        if (group.receivers.delete(receiver)) group.receivers.add(receiver);
        this.#fail(group, row, `not acked within ${ackWithinMs} ms`);
      }
      if (group.waiting.length === 0) this.#rewind(group);
      this.#deliver(name, group);
    }
    this.#flush();
  }

  #group(name: string): Group {
    let group = this.#groups.get(name);
    if (group === undefined) {
      group = { receivers: new Set(), waiting: [], inFlight: new Map(), settling: new Set(), readUpTo: 0, mayHaveMore: true, reading: false, generation: 0, passedOver: undefined };
      this.#groups.set(name, group);
    }
    return group;
  }

  #rewind(group: Group): void {
    group.waiting = [];
    group.readUpTo = 0;
    group.mayHaveMore = true;
    group.generation++;
  }

  #isOwn(row: FeedbackRow): boolean {
    return this.#owned.partitions.has(this.#owned.partitionOf(row.nodeGroup));
  }

  #leave(group: Group, receiver: Receiver, id: string): FeedbackRow | undefined {
    const delivery = group.inFlight.get(id);
    if (delivery?.receiver !== receiver) return undefined;
    group.inFlight.delete(id);
    receiver.inFlight.delete(id);
    return delivery.row;
  }

  #fail(group: Group, row: FeedbackRow, message: string): void {
    const failures = row.deliveries + 1;
    const dead = failures >= mostFailures;
    group.settling.add(row.id);
    this.#settlement.failed.push({ id: row.id, message: message.slice(0, 1_024).replaceAll('\0', '\uFFFD'), nextAt: this.#clock.now() + Math.round(backoffMs(failures, sweepMs, 300_000)), dead });
    if (dead) this.#log.warn('feedback.dead', { instanceId: row.id, group: row.submitNodeGroup, message: message.slice(0, 200) });
  }

  #deliver(name: string, group: Group): void {
    for (const receiver of group.receivers) while (receiver.ready() && this.#send(group, receiver));
    if (group.waiting.length === 0) this.#read(name, group);
  }

  /** One frame to the receiver; false when there is nothing for it, or it has enough. */
  #send(group: Group, receiver: Receiver): boolean {
    const rows: FeedbackRow[] = [];
    let bytes = 0;
    while (receiver.inFlight.size < receiver.maxInFlight && rows.length < frameRows && bytes < frameBytes) {
      const row = group.waiting.shift();
      if (row === undefined) break;
      if (group.inFlight.has(row.id) || group.settling.has(row.id)) continue;
      group.inFlight.set(row.id, { row, receiver, until: this.#clock.monotonic() + ackWithinMs });
      receiver.inFlight.add(row.id);
      rows.push(row);
      bytes += Buffer.byteLength(row.message);
    }
    if (rows.length > 0) receiver.send(rows);
    return rows.length > 0;
  }

  #read(name: string, group: Group): void {
    if (group.reading || !group.mayHaveMore || ![...group.receivers].some((receiver) => receiver.inFlight.size < receiver.maxInFlight)) return;
    group.reading = true;
    group.mayHaveMore = false;
    const { generation } = group;
    this.#store.readFeedback(name, [...this.#owned.partitions.keys()], group.readUpTo, this.#clock.now(), readAhead).then(
      (rows) => {
        group.reading = false;
        if (generation !== group.generation) return this.#deliver(name, group);
        const last = rows[rows.length - 1];
        if (last !== undefined) group.readUpTo = Math.max(group.readUpTo, last.seq);
        if (rows.length === readAhead) group.mayHaveMore = true;
        group.waiting.push(...rows);
        if (rows.length > 0 || group.mayHaveMore) this.#deliver(name, group);
      },
      (error: unknown) => {
        group.reading = false;
        this.#log.warn('store.failed', { operation: 'readFeedback', error });
      },
    );
  }

  #flush(): void {
    const { taken, failed } = this.#settlement;
    if (this.#settling) return;
    const awaiting = this.#awaiting.splice(0);
    const settled = (): void => {
      for (const callback of awaiting) callback();
    };
    if (taken.length + failed.length === 0) return settled();
    this.#settling = true;
    this.#settlement = { taken: [], failed: [] };
    void this.#store.settleFeedback({ taken, failed })
      .catch((error: unknown) => this.#log.warn('store.failed', { operation: 'settleFeedback', error }))
      .then(() => {
        this.#settled(taken, failed.map(({ id }) => id));
        settled();
      });
  }

  #settled(...ids: string[][]): void {
    this.#settling = false;
    for (const group of this.#groups.values()) for (const id of ids.flat()) group.settling.delete(id);
    this.#flush();
  }
}
