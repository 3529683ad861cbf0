import type { HeldEpoch, OwnerIdentity, StoredOwner } from '../../queue-store.js';
import { numbersText } from './array-text.js';
import type { RunStatement } from './ordered-calls.js';

/** Raises the epochs of partitions for this owner; 0002_transitions.sql tells what happens to an owner that blocks it. */
export async function take(query: RunStatement, partitions: readonly number[], owner: OwnerIdentity, now: number): Promise<HeldEpoch[]> {
  const values = [numbersText(partitions), owner.nodeId, owner.incarnation, owner.pid, now];
  const { rows } = await query<{ part: number; epoch: number }>('SELECT part, epoch FROM lts.take($1, $2, $3, $4, $5)', values);
  const epochs = new Map(rows.map(({ part, epoch }) => [part, epoch]));
  return partitions.map((partition) => ({ partition, epoch: epochs.get(partition) ?? 0 }));
}

/** Lets go of partitions; a higher epoch is left alone. */
export async function release(query: RunStatement, held: readonly HeldEpoch[]): Promise<void> {
  const sorted = held.toSorted((a, b) => a.partition - b.partition);
  await query('SELECT lts.release($1, $2)', [numbersText(sorted.map(({ partition }) => partition)), numbersText(sorted.map(({ epoch }) => epoch))]);
}

/** Who holds each partition now. */
export async function owners(query: RunStatement): Promise<StoredOwner[]> {
  const { rows } = await query<StoredOwner & Record<string, unknown>>(
    `SELECT part AS partition, epoch, coalesce(node_id, '') AS "nodeId", coalesce(incarnation, '') AS incarnation FROM lts.ownership ORDER BY part`,
  );
  return rows;
}

/** Those of the held epochs that are not current any more. */
export async function fenced(query: RunStatement, held: readonly HeldEpoch[]): Promise<number[]> {
  const { rows } = await query<{ part: number; epoch: number }>('SELECT part, epoch FROM lts.ownership WHERE part = ANY ($1)', [
    numbersText(held.map(({ partition }) => partition)),
  ]);
  const current = new Map(rows.map(({ part, epoch }) => [part, epoch]));
  return held.filter(({ partition, epoch }) => current.get(partition) !== epoch).map(({ partition }) => partition);
}
