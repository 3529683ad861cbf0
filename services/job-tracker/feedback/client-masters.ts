import type { Clock } from '../../../shared/time/clock.js';
import { GroupMasters, type MemberPort } from '../lead/group-masters.js';
import type { OwnedGroups } from '../queue/owned-groups.js';
import type { FeedbackDelivery } from './feedback-delivery.js';
import type { Receiver } from './receiver.js';

const receivers: MemberPort<Receiver> = {
  nameOf: ({ clientId }) => clientId,
  heardOf: ({ clientTime }) => clientTime,
  tell: (receiver, master) => receiver.master(master),
  ask: (receiver) => receiver.master({ self: false, node_id: '', token: 0, lease: 0, heard: receiver.clientTime }),
};

/** Which receiver is the master of its JobClient group: told by the owner of the partition that the group's name belongs to. */
export class ClientMasters extends GroupMasters<Receiver> {
  readonly #groups: OwnedGroups;
  readonly #delivery: FeedbackDelivery;

  constructor(groups: OwnedGroups, delivery: FeedbackDelivery, graceMs: number, clock: Clock) {
    super(groups, receivers, graceMs, clock);
    this.#groups = groups;
    this.#delivery = delivery;
  }

  /**
   * A receiver has a stream to every tracker, so that it may be here before the partition is. What it took itself for
   * when it came says nothing of now.
   */
  override adopted(partition: number): void {
    super.adopted(partition);
    for (const receiver of this.#delivery.receivers()) {
      const { submitNodeGroup } = receiver;
      if (this.#groups.partitionOf(submitNodeGroup) === partition) this.joined(submitNodeGroup, receiver, 0);
    }
  }
}
