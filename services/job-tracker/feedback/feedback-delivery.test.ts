import { beforeEach, describe, expect, it } from 'vitest';
import type { LtsError } from '../../../shared/errors/lts-error.js';
import { silentLogger } from '../../../shared/log/logger.js';
import { VirtualClock } from '../../../test/kit/virtual-clock.js';
import type { OwnedGroups } from '../queue/owned-groups.js';
import type { FeedbackRow, FeedbackSettlement } from '../queue/queue-store.js';
import { FeedbackDelivery, mostFailures } from './feedback-delivery.js';
import type { Receiver } from './receiver.js';

const row = (seq: number): FeedbackRow => ({
  seq,
  id: `id-${seq}`,
  taskId: `t${seq}`,
  nodeGroup: 'g',
  submitNodeGroup: 'app',
  scheduledAt: 0,
  state: 'SUCCEEDED',
  outcome: 'SUCCESS',
  message: '',
  attempt: 1,
  endedAt: 0,
  deliveries: 0,
  dead: false,
  nextAt: 0,
  lastError: '',
});

const partitionOf = (group: string): number => (group === 'g1' ? 1 : 0);

/** Keeps the rows as the store does. */
class Rows {
  rows: FeedbackRow[] = [];
  readFeedback = (group: string, partitions: readonly number[], afterSeq: number, now: number, limit: number): Promise<FeedbackRow[]> => {
    const due = this.rows.filter((each) => each.submitNodeGroup === group && partitions.includes(partitionOf(each.nodeGroup)) && each.seq > afterSeq && !each.dead && each.nextAt <= now);
    return Promise.resolve(due.toSorted((a, b) => a.seq - b.seq).slice(0, limit));
  };
  settleFeedback = ({ taken, failed }: FeedbackSettlement): Promise<void> => {
    this.rows = this.rows.filter((each) => !taken.includes(each.id));
    for (const { id, nextAt, dead, message } of failed) {
      const found = this.rows.find((each) => each.id === id);
      if (found !== undefined) Object.assign(found, { nextAt, dead, lastError: message, deliveries: found.deliveries + 1 });
    }
    return Promise.resolve();
  };
}

class TestReceiver implements Receiver {
  readonly submitNodeGroup = 'app';
  readonly clientId = 'c';
  readonly address = '';
  readonly since = 0;
  readonly inFlight = new Set<string>();
  readonly got: string[] = [];
  clientTime = 0;
  readonly maxInFlight: number;
  ended: LtsError | undefined;
  constructor(maxInFlight = 10) {
    this.maxInFlight = maxInFlight;
  }
  master(): void {}

  ready(): boolean {
    return true;
  }
  send(rows: readonly FeedbackRow[]): void {
    this.got.push(...rows.map(({ id }) => id));
  }
  end(error: LtsError): void {
    this.ended = error;
  }
}

describe('FeedbackDelivery', () => {
  let clock: VirtualClock;
  let rows: Rows;
  let delivery: FeedbackDelivery;
  let owned: Map<number, object>;
  const second = async (): Promise<void> => {
    await clock.advance(1_000);
    delivery.sweep();
    await clock.advance(0);
  };

  beforeEach(() => {
    clock = new VirtualClock();
    rows = new Rows();
    owned = new Map([[0, {}]]);
    delivery = new FeedbackDelivery(rows, { partitions: owned as OwnedGroups['partitions'], partitionOf }, clock, silentLogger);
  });

  it('delivers what waited, in order, and forgets it once it is taken', async () => {
    rows.rows = [row(1), row(2), row(3)];
    const receiver = new TestReceiver();
    delivery.add(receiver);
    await clock.advance(0);
    expect(receiver.got).toEqual(['id-1', 'id-2', 'id-3']);
    delivery.settle(receiver, receiver.got, []);
    await second();
    await second();
    expect(rows.rows).toEqual([]);
    expect(receiver.got).toHaveLength(3);
  });

  it('keeps to the limit of the receiver', async () => {
    rows.rows = Array.from({ length: 5 }, (_, i) => row(i + 1));
    const receiver = new TestReceiver(2);
    delivery.add(receiver);
    await clock.advance(0);
    expect(receiver.got).toEqual(['id-1', 'id-2']);
    delivery.settle(receiver, ['id-1'], []);
    await clock.advance(0);
    expect(receiver.got).toEqual(['id-1', 'id-2', 'id-3']);
  });

  it('gives what a receiver had to another one when it leaves', async () => {
    rows.rows = [row(1)];
    const first = new TestReceiver();
    const other = new TestReceiver();
    delivery.add(first);
    await clock.advance(0);
    delivery.add(other);
    delivery.remove(first);
    await clock.advance(0);
    expect(other.got).toEqual(['id-1']);
  });

  it('sends again after a back-off when the handler failed, and after 30 s without an ack', async () => {
    rows.rows = [row(1)];
    const receiver = new TestReceiver();
    delivery.add(receiver);
    await clock.advance(0);
    delivery.settle(receiver, [], [{ id: 'id-1', message: 'no' }]);
    await clock.advance(0);
    expect(receiver.got).toHaveLength(1);
    for (let i = 0; i < 5; i++) await second();
    expect(receiver.got).toHaveLength(2);
    for (let i = 0; i < 40; i++) await second();
    expect(receiver.got).toHaveLength(3);
    expect(rows.rows[0]?.lastError).toContain('not acked');
  });

  it('gives what one receiver did not ack to another one, although the first has room', async () => {
    rows.rows = [row(1)];
    const still = new TestReceiver();
    const other = new TestReceiver();
    delivery.add(still);
    await clock.advance(0);
    delivery.add(other);
    for (let i = 0; i < 40; i++) await second();
    expect([still.got, other.got]).toEqual([['id-1'], ['id-1']]);
  });

  it('gives up after the last allowed failure until it is resent', async () => {
    rows.rows = [{ ...row(1), deliveries: mostFailures - 1 }];
    const receiver = new TestReceiver();
    delivery.add(receiver);
    await clock.advance(0);
    delivery.settle(receiver, [], [{ id: 'id-1', message: 'no' }]);
    await clock.advance(400_000);
    await second();
    expect(rows.rows[0]?.dead).toBe(true);
    expect(receiver.got).toHaveLength(1);
  });

  it('delivers results that come to be owed later, also older instances', async () => {
    const receiver = new TestReceiver();
    delivery.add(receiver);
    await clock.advance(0);
    rows.rows.push(row(7));
    delivery.owed('app');
    await clock.advance(0);
    rows.rows.push(row(8));
    delivery.owed('app');
    await clock.advance(0);
    expect(receiver.got).toEqual(['id-7', 'id-8']);
  });

  it('reads from the beginning when a partition is adopted, also while a read is on its way', async () => {
    rows.rows = [row(5), { ...row(1), nodeGroup: 'g1' }, { ...row(2), nodeGroup: 'g1' }];
    const receiver = new TestReceiver();
    delivery.add(receiver);
    await clock.advance(0);
    expect(receiver.got).toEqual(['id-5']);
    rows.rows.push(row(7));
    delivery.owed('app');
    owned.set(1, {});
    delivery.adopted();
    await clock.advance(0);
    expect(receiver.got.toSorted()).toEqual(['id-1', 'id-2', 'id-5', 'id-7']);
  });

  it('forgets what is out of a partition that is not owned any more: its ack changes nothing', async () => {
    owned.set(1, {});
    rows.rows = [row(1), { ...row(2), nodeGroup: 'g1' }];
    const receiver = new TestReceiver(2);
    delivery.add(receiver);
    await clock.advance(0);
    expect(receiver.got).toEqual(['id-1', 'id-2']);
    owned.delete(1);
    delivery.dropped();
    delivery.settle(receiver, ['id-1', 'id-2'], []);
    await second();
    expect(rows.rows.map(({ id }) => id)).toEqual(['id-2']);
    expect(receiver.inFlight.size).toBe(0);
    for (let i = 0; i < 40; i++) await second();
    expect(receiver.got).toEqual(['id-1', 'id-2']);
    expect(rows.rows[0]?.lastError).toBe('');
  });

  describe('a result that was passed over', () => {
    const found: string[] = [];
    const look = async (): Promise<void> => {
      delivery.findPassedOver((group, id) => found.push(`${group} ${id}`));
      await second();
    };
    beforeEach(() => void (found.length = 0));

    it('is found by the second look, told, and delivered before what came after it', async () => {
      rows.rows = [row(10), row(11), row(12), row(13)];
      const receiver = new TestReceiver(1);
      delivery.add(receiver);
      await second();
      rows.rows.push(row(5));
      await look();
      expect(found).toEqual([]);
      await look();
      expect(found).toEqual(['app id-5']);
      delivery.settle(receiver, ['id-10'], []);
      await second();
      expect(receiver.got).toEqual(['id-10', 'id-5']);
    });

    it('is none that waits, is under way, is being settled, or comes again after a failure', async () => {
      rows.rows = [row(10), row(11), row(12)];
      const receiver = new TestReceiver(1);
      delivery.add(receiver);
      await second();
      for (let i = 0; i < 3; i++) await look();
      delivery.settle(receiver, [], [{ id: 'id-10', message: 'no' }]);
      await clock.advance(5_000);
      for (let i = 0; i < 3; i++) await look();
      delivery.settle(receiver, ['id-11'], []);
      await second();
      expect(receiver.got).toEqual(['id-10', 'id-11', 'id-10']);
      expect(found).toEqual([]);
    });
  });
});
