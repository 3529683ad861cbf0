import type { LtsError } from '../../../shared/errors/lts-error.js';
import type { GroupMaster } from '../../../shared/grpc/generated/lts/v1/GroupMaster.js';
import type { FeedbackRow } from '../queue/queue-store.js';

/** A connected JobClient that takes results. */
export interface Receiver {
  readonly submitNodeGroup: string;
  readonly clientId: string;
  readonly address: string;
  readonly since: number;
  readonly maxInFlight: number;
  /** The newest time of its monotonic clock that came from it; 0: it tells none. */
  clientTime: number;
  /** Delivered and not settled. */
  readonly inFlight: Set<string>;
  /** Whether the stream takes a frame now. */
  ready(): boolean;
  send(rows: readonly FeedbackRow[]): void;
  /** Says who the master of the group is; left out while the stream takes nothing. */
  master(master: GroupMaster): void;
  end(error: LtsError): void;
}
