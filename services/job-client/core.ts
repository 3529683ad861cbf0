import { join } from 'node:path';
import { type FailStore, openFailStore } from '../../shared/failstore/fail-store.js';
import type { StoreScope } from '../../shared/failstore/folder-identity.js';
import { keepTakingOver } from '../../shared/failstore/keep-taking-over.js';
import { newId } from '../../shared/ids.js';
import type { Logger } from '../../shared/log/logger.js';
import type { Clock } from '../../shared/time/clock.js';
import type { CallParts } from './discover/call-owner.js';
import type { Router } from './discover/router.js';
import { TrackerClients } from './discover/tracker-clients.js';
import { Drain } from './outbox/drain.js';
import { Outbox } from './outbox/outbox.js';
import { Canceller } from './submit/canceller.js';
import { Submitter } from './submit/submitter.js';

/** What the library and the gateway have in common. */
export interface CoreOptions {
  router: Router;
  log: Logger;
  clock: Clock;
  /** Milliseconds; see SubmitterSettings. */
  submitTimeoutMs: number;
  /** Folder of this node's data; without it there is no FailStore. */
  dataDir: string | undefined;
  /** Stable name of the node: it finds its FailStore again by it. */
  nodeId: string;
  /** With whom it shares the FailStores of its data folder: see StoreScope. */
  scope: Omit<StoreScope, 'kind'>;
  failStoreBytes: number;
}

/** The parts of a JobClient, wired. */
export interface Core extends CallParts {
  submitter: Submitter;
  canceller: Canceller;
  outbox: Outbox | undefined;
  /** A reason for the drain to look again soon. */
  wakeDrain(): void;
  /** Waits for answers of what was given, then closes all. What has no answer by then is stored, or refused. */
  close(): Promise<void>;
}

const maxJobs = 20_000;
const maxBytes = 64 * 1024 * 1024;

/** Wires the parts. Errors: those of openFailStore. */
export function createCore(options: CoreOptions): Core {
  const { router, log, clock, submitTimeoutMs: timeoutMs } = options;
  const clients = new TrackerClients();
  const parts: CallParts = { router, clients, clock };
  const store = openStore(options);
  const wakeDrain = (): void => drain?.wake();
  const outbox = store === undefined ? undefined : new Outbox(store, log, clock, () => drain?.stored());
  const drain = outbox === undefined ? undefined : new Drain(parts, outbox, log, Math.max(timeoutMs, 1_000));
  const takingOver = store === undefined ? undefined : keepTakingOver(store, clock, wakeDrain);
  const submitter = new Submitter(parts, { timeoutMs, maxJobs, maxBytes, outbox });
  const subscription = router.onChange(wakeDrain);
  return {
    ...parts,
    submitter,
    canceller: new Canceller(parts, outbox, timeoutMs),
    outbox,
    wakeDrain,
    close: async () => {
      await submitter.whenIdle();
      subscription.close();
      takingOver?.close();
      await drain?.close();
      router.close();
      clients.closeAll();
      store?.close();
    },
  };
}

function openStore({ dataDir, nodeId, scope, failStoreBytes, log, clock }: CoreOptions): FailStore | undefined {
  if (dataDir === undefined) return undefined;
  const store = openFailStore({ dir: join(dataDir, 'failstore', 'job-client'), nodeId, scope: { kind: 'job-client', ...scope }, incarnation: newId(), maxBytes: failStoreBytes, log, clock });
  const { entries, dead } = store.counts;
  if (entries > 0) log.info('failstore.stored', { what: 'left from an earlier run', entries, dead, folder: store.folder });
  return store;
}
