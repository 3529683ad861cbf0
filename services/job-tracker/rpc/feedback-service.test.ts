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
import { OwnedGroups } from '../queue/owned-groups.js';
import { feedbackService } from './feedback-service.js';

const graceMs = 9_000;

/** A tracker that takes streams of receivers. */
class Bench {
  readonly clock = new VirtualClock();
  readonly groups = new OwnedGroups(1_000);
  readonly #delivery = new FeedbackDelivery({ readFeedback: () => Promise.resolve([]), settleFeedback: () => Promise.resolve() }, this.groups, this.clock, silentLogger);
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
  open(): { say: (frame: WatchFeedbackRequest) => void; told: GroupMaster[] } {
    const told: GroupMaster[] = [];
    const write = ({ master }: WatchFeedbackResponse): boolean => (master !== undefined && master !== null && told.push(master), true);
    const call = Object.assign(new EventEmitter(), { write, end: () => undefined, getPeer: () => 'peer', getPath: () => 'WatchFeedback' });
    (this.#service['WatchFeedback'] as unknown as (stream: typeof call) => void)(call);
    return { say: ({ hello, alive }) => call.emit('data', hello ? { frame: 'hello', hello: { submit_node_group: 'app', max_in_flight: 0, client_id: 'c', ...hello } } : { frame: 'alive', alive }), told };
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
});
