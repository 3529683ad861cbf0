/** Version of the time zone rules by which this process computes times, such as 2025b. */
export const tzdataVersion: string = process.versions.tz ?? '';

/** What is to be told of trackers that compute times by different rules, by node id; undefined: nothing. Those that tell no version are left out. */
export function tzdataDiffers(trackers: Iterable<readonly [nodeId: string, version: string]>): string | undefined {
  const nodesBy = new Map<string, string[]>();
  for (const [nodeId, version] of trackers) if (version !== '') nodesBy.set(version, [...(nodesBy.get(version) ?? []), nodeId]);
  if (nodesBy.size < 2) return undefined;
  const named = [...nodesBy].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([version, nodes]) => `${version} on ${nodes.toSorted().slice(0, mostNamed).join(', ')}${nodes.length > mostNamed ? ` and ${nodes.length - mostNamed} more` : ''}`);
  return `trackers compute times by different time zone rules: tzdata ${named.join('; ')}. Schedules of a zone whose rules have changed fire as their owner has it; run the same release of Node.js on all`;
}

const mostNamed = 20;
