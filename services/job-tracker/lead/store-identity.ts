import { LtsError, toLtsError } from '../../../shared/errors/lts-error.js';
import { quoted } from '../../../shared/errors/quoted.js';
import type { Logger } from '../../../shared/log/logger.js';
import type { Registry } from '../../../shared/registry/registry.js';
import { backoffMs } from '../../../shared/time/backoff.js';
import type { Clock } from '../../../shared/time/clock.js';

/** The document that names the cluster's store. */
export const storeDocument = 'store';

const nameForm = /^[A-Za-z0-9-]{1,64}$/;

/** What passes by itself: the registry is away, or another tracker wrote at the same moment. */
const passing = new Set(['REGISTRY_UNAVAILABLE', 'VERSION_CONFLICT', 'DEADLINE_PASSED']);

/** A registry that is only being connected is no news. */
const quietTries = 5;

/**
 * Makes sure that all trackers of a cluster have the same store: the first one writes its identity into the registry,
 * the others compare. Resolves when they agree, however long the registry is away. Rejects with STORE_FOREIGN.
 */
export async function agreeOnStore(registry: Registry, storeId: () => Promise<string>, clock: Clock, log: Logger): Promise<void> {
  const document = registry.document(storeDocument);
  for (let tries = 0; ; tries++) {
    try {
      const own = await storeId();
      const known = own === '' ? undefined : await document.read();
      if (known === null) await document.write(Buffer.from(own), 'create');
      else if (known !== undefined) return compare(storeNamedBy(known.data), own);
    } catch (error) {
      const { reason } = toLtsError(error);
      if (!passing.has(reason)) throw error;
      if (tries === quietTries) log.warn('registry.failed', { operation: 'store', error });
    }
    await clock.sleep(backoffMs(Math.min(tries, 4), 50, 1_000));
  }
}

/** The store that the document names. Anybody may have written it: what cannot be a name is as messages may show it. */
export function storeNamedBy(data: Uint8Array): string {
  const text = Buffer.from(data).toString('utf8');
  return nameForm.test(text) ? text : quoted(text);
}

function compare(known: string, own: string): void {
  if (known === own) return;
  throw new LtsError(
    'STORE_FOREIGN',
    `the cluster works on store ${known}, this tracker has store ${own}; point --data-dir or --postgres-url to the cluster's store, or, when that store is gone for good, make this one the cluster's with lts store adopt`,
  );
}
