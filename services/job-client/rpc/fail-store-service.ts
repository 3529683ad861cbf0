import type { UntypedHandleCall } from '@grpc/grpc-js';
import { LtsError } from '../../../shared/errors/lts-error.js';
import type { FailStore } from '../../../shared/failstore/fail-store.js';
import type { FailStoreEntry } from '../../../shared/grpc/generated/lts/v1/FailStoreEntry.js';
import type { ListEntriesRequest__Output } from '../../../shared/grpc/generated/lts/v1/ListEntriesRequest.js';
import type { ListEntriesResponse } from '../../../shared/grpc/generated/lts/v1/ListEntriesResponse.js';
import type { ResendEntriesRequest__Output } from '../../../shared/grpc/generated/lts/v1/ResendEntriesRequest.js';
import type { ResendEntriesResponse } from '../../../shared/grpc/generated/lts/v1/ResendEntriesResponse.js';
import type { Handlers } from '../../../shared/grpc/handlers.js';
import { instanceOf, splitKey } from '../outbox/entries.js';

/** Most entries of one page, and most ids of one call. */
const maxEntries = 1_000;

/** FailStoreService: shows what is stored here and sends dead entries again. `onRevived`: there is something to send. */
export function failStoreService(handlers: Handlers, store: FailStore, onRevived: () => void): Record<string, UntypedHandleCall> {
  return {
    ListEntries: handlers.unary<ListEntriesRequest__Output, ListEntriesResponse>(({ dead_only: deadOnly, page_size: size }) => {
      if (size < 0 || size > maxEntries) throw new LtsError('INVALID_ARGUMENT', `page_size is ${size}; give 1 to ${maxEntries}, or 0 for 100`);
      return { entries: list(store, deadOnly, size === 0 ? 100 : size), total: deadOnly ? store.counts.dead : store.counts.entries };
    }) as UntypedHandleCall,
    ResendEntries: handlers.unary<ResendEntriesRequest__Output, ResendEntriesResponse>(({ entry_ids: ids }) => {
      if (ids.length > maxEntries) throw new LtsError('INVALID_ARGUMENT', `entry_ids has ${ids.length} entries; give at most ${maxEntries}, or none for all`);
      const resent = store.revive(ids.length === 0 ? 'all' : ids);
      if (resent > 0) onRevived();
      return { resent };
    }) as UntypedHandleCall,
  };
}

function list(store: FailStore, deadOnly: boolean, limit: number): FailStoreEntry[] {
  return store.list({ deadOnly, limit }).map((info) => {
    const { taskId, nodeGroup } = splitKey(info.key);
    return {
      entry_id: info.id,
      kind: info.kind,
      instance_id: instanceOf(info, (id) => store.get(id)),
      task_id: taskId,
      node_group: nodeGroup,
      stored_at: info.storedAt,
      dead: info.dead,
      tries: info.tries,
      last_error: info.lastError,
      taken_from: info.origin,
    };
  });
}
