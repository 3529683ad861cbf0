import type { Logger } from '../../../log/logger.js';
import type { Clock } from '../../../time/clock.js';
import type { Connection } from './connection.js';
import type { Layout } from './layout.js';
import type { Session } from './session.js';

/** Something that a registry keeps for its user from one connected period to the next. */
export interface Part {
  /** A period begins or, with undefined, has ended. */
  attach(connection: Connection | undefined): void;
  /** Removes what it keeps in ZooKeeper, if anything. */
  close?(): Promise<void>;
  /** Whether the node is this part's. */
  claims?(path: string): boolean;
}

/** What the parts need of their registry. */
export interface PartContext {
  layout: Layout;
  session: Session;
  clock: Clock;
  log: Logger;
  /** The part is done for good and hears of no further period. */
  forget(part: Part): void;
  /** A node of this session that belonged to nothing was removed. */
  onOrphan(path: string): void;
}
