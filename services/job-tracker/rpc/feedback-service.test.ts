import { EventEmitter } from 'node:events';
import { beforeEach, describe, expect, it } from 'vitest';
import type { GroupMaster } from '../../../shared/grpc/generated/lts/v1/GroupMaster.js';
import type { WatchFeedbackRequest } from '../../../shared/grpc/generated/lts/v1/WatchFeedbackRequest.js';
import type { WatchFeedbackResponse } from '../../../shared/grpc/generated/lts/v1/WatchFeedbackResponse.js';
import { createHandlers } from '../../../shared/grpc/handlers.js';
import { silentLogger } from '../../../shared/log/logger.js';
import { VirtualClock } from '../../../test/kit/virtual-clock.js';
import { ClientMasters } from '../feedback/client-masters.js';
import { FeedbackDelivery } from '../feedback/feedback-delivery.js';
import type { Ownership } from '../lead/ownership.js';
import type { FeedbackRow } from '../queue/queue-store.js';
import { OwnedGroups } from '../queue/owned-groups.js';
import { feedbackService } from './feedback-service.js';

const graceMs = 9_000;

/** A tracker that takes streams of receivers. */
class Bench {
  readonly clock = new VirtualClock();
  readonly groups = new OwnedGroups(1_000);
  rows: FeedbackRow[] = [];
  /** Answers of the store that are waited for. */
  readonly storing: (() => void)[] = [];
  readonly #delivery = new FeedbackDelivery({ readFeedback: () => Promise.resolve(this.rows), settleFeedback: () => new Promise((resolve) => this.storing.push(resolve)) }, this.groups, this.clock, silentLogger);
  readonly masters = new ClientMasters(this.groups, this.#delivery, graceMs, this.clock);
  readonly #service = feedbackService(createHandlers(silentLogger), {
    delivery: this.#delivery,
    masters: this.masters,
    ownership: { requireAccepting: () => undefined } as unknown as Ownership,
    clock: this.clock,
    log: silentLogger,
  });

  adopt(epoch: number): void {
    this.groups.adopt({ partition: 0, epoch }, { groups: [], executing: [], nextDueAt: undefined, schedules: { guarded: [], resting: [], left: [] } });
    this.groups.confirm([{ partition: 0, epoch }], Number.POSITIVE_INFINITY);
    this.masters.adopted(0);
  }

  /** Gives what the receiver says, and what it is told of the master. */
  open(): { say: (frame: WatchFeedbackRequest) => void; leave: () => void; told: GroupMaster[]; ended: () => boolean } {
    const told: GroupMaster[] = [];
    let ended = false;
    const write = ({ master }: WatchFeedbackResponse): boolean => (master !== undefined && master !== null && told.push(master), true);
    const call = Object.assign(new EventEmitter(), { write, end: () => void (ended = true), getPeer: () => 'peer', getPath: () => 'WatchFeedback' });
    (this.#service['WatchFeedback'] as unknown as (stream: typeof call) => void)(call);
    const say = ({ hello, alive, ack }: WatchFeedbackRequest): void => {
      if (hello) call.emit('data', { frame: 'hello', hello: { submit_node_group: 'app', max_in_flight: 0, client_id: 'c', ...hello } });
      else if (ack) call.emit('data', { frame: 'ack', ack: { failures: [], ...ack } });
      else call.emit('data', { frame: 'alive', alive });
    };
    return { say, leave: () => call.emit('end'), told, ended: () => ended };
  }
}

describe('FeedbackService', () => {
  let bench: Bench;
  beforeEach(() => {
    bench = new Bench();
  });

  it('leaves the mastership to the receiver that answers to its new owner, not to one that was master when it came', async () => {
    const [former, present] = [bench.open(), bench.open()];
    former.say({ hello: { client_id: 'former', master_token: 5, monotonic: 10 } });
    present.say({ hello: { client_id: 'present', master_token: 0, monotonic: 20 } });
    await bench.clock.advance(60_000);
    bench.adopt(8);
    const question = { self: false, node_id: '', token: 0 };
    expect([former.told, present.told]).toEqual([[{ ...question, lease: 0, heard: 10 }], [{ ...question, lease: 0, heard: 20 }]]);
    former.say({ alive: { monotonic: 60_010, master_token: 0 } });
    present.say({ alive: { monotonic: 60_020, master_token: 7 } });
    expect(present.told.at(-1)).toMatchObject({ self: true, node_id: 'present', heard: 60_020 });
    expect(former.told.at(-1)).toMatchObject({ self: false, node_id: 'present', token: present.told.at(-1)?.token });
  });

  it('waits for the grace time when nobody answers that it is the master', async () => {
    bench.adopt(8);
    const receiver = bench.open();
    receiver.say({ hello: { master_token: 5, monotonic: 10 } });
    await bench.clock.advance(graceMs - 1);
    expect(receiver.told.some(({ self }) => self)).toBe(false);
    await bench.clock.advance(1);
    expect(receiver.told.at(-1)).toMatchObject({ self: true });
  });

  it('ends the stream of a receiver that leaves when its last acks are stored, at once when there are none', async () => {
    bench.rows = ['a', 'b'].map((id, index) => ({ id, seq: index + 1, nodeGroup: 'g', submitNodeGroup: 'app', message: '', deliveries: 0 }) as FeedbackRow);
    const receiver = bench.open();
    receiver.say({ hello: { monotonic: 1 } });
    await bench.clock.advance(0);
    receiver.say({ ack: { feedback_ids: ['a'] } });
    receiver.say({ ack: { feedback_ids: ['b'] } });
    receiver.leave();
    await bench.clock.advance(0);
    expect(bench.storing).toHaveLength(1);
    bench.storing[0]?.();
    await bench.clock.advance(0);
    expect([bench.storing.length, receiver.ended()]).toEqual([2, false]);
    bench.storing[1]?.();
    await bench.clock.advance(0);
    expect(receiver.ended()).toBe(true);
    const idle = bench.open();
    idle.say({ hello: { monotonic: 1 } });
    idle.leave();
    expect(idle.ended()).toBe(true);
  });
});
