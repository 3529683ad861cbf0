import type { EntryInfo, NewEntry, StoredEntry } from '../../../shared/failstore/entry.js';
import type { CancelJobRequest } from '../../../shared/grpc/generated/lts/v1/CancelJobRequest.js';
import { newId } from '../../../shared/ids.js';
import { keyOf, type PendingJob } from '../submit/pending-job.js';

/** What entries are: a job as its bytes, or a cancel as JSON. */
export type EntryKind = 'SUBMIT' | 'CANCEL';

/** A cancel that waits. */
export interface StoredCancel {
  /** Empty: by task. */
  instanceId: string;
  taskId: string;
  nodeGroup: string;
  /** Wall time in milliseconds: what was submitted later is not meant. */
  at: number;
}

/** A submit to keep. Its id is the instance id, so that a repeat is no second entry. */
export function submitEntry(job: PendingJob): NewEntry {
  return { id: job.instanceId, kind: 'SUBMIT' satisfies EntryKind, key: keyOf(job.nodeGroup, job.taskId), body: job.bytes };
}

/** A cancel to keep, behind the entries of this key. */
export function cancelEntry(request: CancelJobRequest, key: string, at: number): NewEntry {
  const { instance_id: instanceId = '', node_group: nodeGroup = '' } = request;
  const stored: StoredCancel = { instanceId, taskId: splitKey(key).taskId, nodeGroup, at };
  return { id: newId(), kind: 'CANCEL' satisfies EntryKind, key, body: Buffer.from(JSON.stringify(stored)) };
}

/** The cancel in an entry. */
export function storedCancel(entry: StoredEntry): StoredCancel {
  return JSON.parse(entry.body.toString()) as StoredCancel;
}

/** Group and task of a key. */
export function splitKey(key: string): { nodeGroup: string; taskId: string } {
  const at = key.indexOf('\n');
  return { nodeGroup: key.slice(0, at), taskId: key.slice(at + 1) };
}

/** The instance that an entry is about; empty for a cancel by task. */
export function instanceOf(info: EntryInfo, read: (id: string) => StoredEntry | undefined): string {
  if (info.kind === 'SUBMIT') return info.id;
  const entry = read(info.id);
  return entry === undefined ? '' : storedCancel(entry).instanceId;
}
