/**
 * The highest epoch that this process has seen, by store and partition. It only grows, and it outlives every stream: a
 * tracker that was displaced can no longer give work, even when it does not know yet.
 */
export class Epochs {
  readonly #byStore = new Map<string, Map<number, number>>();

  /** Raises the remembered epoch; gives the remembered one when it is higher. */
  raise(storeId: string, partition: number, epoch: number): number | undefined {
    let partitions = this.#byStore.get(storeId);
    if (partitions === undefined) {
      partitions = new Map();
      this.#byStore.set(storeId, partitions);
    }
    const remembered = partitions.get(partition) ?? 0;
    if (epoch < remembered) return remembered;
    partitions.set(partition, epoch);
    return undefined;
  }

  /** Whether this very epoch was seen before. */
  knows(storeId: string, partition: number, epoch: number): boolean {
    return this.#byStore.get(storeId)?.get(partition) === epoch;
  }
}
