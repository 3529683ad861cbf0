import { LtsError } from '../../../shared/errors/lts-error.js';
import type { Member, Registry } from '../../../shared/registry/registry.js';
import { withDeadline } from '../../../shared/time/deadline.js';
import type { Clock } from '../../../shared/time/clock.js';
import { storeDocument, storeNamedBy } from './store-identity.js';

const answerWithinMs = 10_000;

/** The trackers that are registered now. Rejects with DEADLINE_PASSED when the registry does not tell. */
export async function registeredTrackers(registry: Registry, clock: Clock): Promise<readonly Member[]> {
  let subscription: { close(): void } | undefined;
  const told = new Promise<readonly Member[]>((resolve) => (subscription = registry.watchMembers('job-tracker', resolve)));
  try {
    return await withDeadline(told, answerWithinMs, 'asking the registry for its trackers', clock);
  } finally {
    subscription?.close();
  }
}

/** Refuses to change the cluster's store while trackers are registered: they would go on with the other one. */
export async function refuseTrackers(registry: Registry, clock: Clock): Promise<void> {
  const trackers = await registeredTrackers(registry, clock);
  if (trackers.length === 0) return;
  throw new LtsError('TRACKERS_RUNNING', `${named(trackers)} registered and may work on another store; stop them first, or --force`);
}

/** Makes this the cluster's store, on purpose: the next trackers compare theirs with it. Tells which one it was before, undefined for none. */
export async function adoptStore(registry: Registry, storeId: string): Promise<string | undefined> {
  const document = registry.document(storeDocument);
  const known = await document.read();
  const before = known === null ? undefined : storeNamedBy(known.data);
  if (before !== storeId) await document.write(Buffer.from(storeId), known?.version ?? 'create');
  return before;
}

/** Refuses while a tracker of an older release is registered: it needs what a contracting migration takes away. */
export async function refuseOlderTrackers(registry: Registry, version: string, clock: Clock): Promise<void> {
  const older = (await registeredTrackers(registry, clock)).filter((tracker) => isOlder(tracker.version, version));
  if (older.length > 0) throw new LtsError('TRACKERS_RUNNING', `${named(older)} registered with an older version than ${version}; bring them to this version first`);
}

/** Whether a release is older than another; what is no number counts as older. */
export function isOlder(version: string, than: string): boolean {
  return version.localeCompare(than, 'en', { numeric: true }) < 0;
}

function named(trackers: readonly Member[]): string {
  const names = trackers.map(({ nodeId, version }) => `${nodeId} (${version})`).join(', ');
  return `${names} ${trackers.length === 1 ? 'is' : 'are'}`;
}
