/**
 * The partition of a node group: FNV-1a (32 bit) over its UTF-8 bytes, modulo the number of partitions. Part of the
 * contract (ClusterMap.partitions): clients in any language compute the same.
 */
export function partitionOf(nodeGroup: string, partitions: number): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(nodeGroup, 'utf8')) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash % partitions;
}
