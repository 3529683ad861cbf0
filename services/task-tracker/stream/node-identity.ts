import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { type FailStore, openFailStore } from '../../../shared/failstore/fail-store.js';
import { endpointsOf, type StoreScope } from '../../../shared/failstore/folder-identity.js';
import type { Logger } from '../../../shared/log/logger.js';
import type { ThreadSettings } from './messages.js';

const mostPerFolder = 1_000;

/** Who this process is: its node id, and the FailStore of that node. */
export interface NodeIdentity {
  nodeId: string;
  store: FailStore;
}

/**
 * Takes the given node id, or the first one of this host and data folder that no living process holds: so several
 * workers of one folder are several nodes, and a restarted one finds what it left. Errors: those of openFailStore.
 */
export function takeIdentity(settings: ThreadSettings, log: Logger): NodeIdentity {
  const { nodeId, cluster, nodeGroup, dataDir, incarnation, failStoreBytes } = settings;
  const dir = join(dataDir, 'task-tracker', encodeURIComponent(nodeGroup));
  const scope: StoreScope = { kind: 'task-tracker', cluster, nodeGroup, endpoints: endpointsOf(settings.trackers, settings.zookeeper) };
  const options = { dir, incarnation, scope, maxBytes: failStoreBytes };
  if (nodeId !== undefined) return { nodeId, store: openFailStore({ ...options, nodeId, log }) };
  const place = createHash('sha256').update(resolve(dir)).digest('hex').slice(0, 4);
  for (let number = 1; ; number++) {
    const candidate = `${hostname().slice(0, 100)}-${place}-${number}`;
    const store = openFailStore({ ...options, nodeId: candidate, log: number < mostPerFolder ? quiet(log) : log });
    if (store.folder === join(dir, encodeURIComponent(candidate)) || number >= mostPerFolder) return { nodeId: candidate, store };
    store.close();
  }
}

/** That a folder is held by another worker is no fault here. */
function quiet(log: Logger): Logger {
  return { ...log, warn: () => undefined };
}
