import type { LtsError } from '../../../shared/errors/lts-error.js';
import type { FeedbackRow } from '../queue/queue-store.js';

/** A connected JobClient that takes results. */
export interface Receiver {
  readonly submitNodeGroup: string;
  readonly clientId: string;
  readonly address: string;
  readonly since: number;
  readonly maxInFlight: number;
  /** Delivered and not settled. */
  readonly inFlight: Set<string>;
  /** Whether the stream takes a frame now. */
  ready(): boolean;
  send(rows: readonly FeedbackRow[]): void;
  end(error: LtsError): void;
}
