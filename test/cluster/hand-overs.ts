import type { Cluster } from './cluster.js';

/** Times are wall times of this host, in milliseconds. */
interface Change {
  kind: 'released' | 'taken';
  partitions: number[];
  /** Released: when nothing of it began any more. Taken: when all of them work. */
  at: number;
}

/** How long each partition began nothing while it moved from one living tracker to another, by their own word. */
export function pausesOf(cluster: Cluster, logs: readonly string[], from: number): Map<number, number> {
  const changes = [...logs, ...cluster.trackers.map(({ process }) => process.output)].flatMap(changesIn).filter(({ at }) => at >= from);
  const pauses = new Map<number, number>();
  for (const { partitions, at } of changes.filter(({ kind }) => kind === 'released')) {
    for (const partition of partitions) {
      const taken = changes.find((change) => change.kind === 'taken' && change.at >= at && change.partitions.includes(partition));
      if (taken !== undefined) pauses.set(partition, Math.max(pauses.get(partition) ?? 0, taken.at - at));
    }
  }
  return pauses;
}

/** The longest time in which a group began no run, from then on; in milliseconds of the host's clock. */
export function longestGaps(cluster: Cluster, from: number): Map<string, number> {
  const last = new Map<string, number>();
  const gaps = new Map<string, number>();
  for (const { group = '', at } of cluster.witness.starts()) {
    if (at < from) continue;
    gaps.set(group, Math.max(gaps.get(group) ?? 0, at - (last.get(group) ?? at)));
    last.set(group, Math.max(last.get(group) ?? at, at));
  }
  return gaps;
}

function changesIn(output: string): Change[] {
  return output.split('\n').flatMap((line) => {
    const kind = /"event":"owner\.(released|taken)"/.exec(line)?.[1] as Change['kind'] | undefined;
    if (kind === undefined) return [];
    const { time, partitions, tookMs } = JSON.parse(line) as { time: string; partitions: string; tookMs: number };
    return [{ kind, partitions: numbersOf(partitions), at: Date.parse(time) - (kind === 'released' ? tookMs : 0) }];
  });
}

/** 0, 1, 2, 7 for 0-2,7. */
function numbersOf(ranges: string): number[] {
  return ranges.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  });
}
