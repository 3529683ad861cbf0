import { hostname } from 'node:os';
import type { Member } from '../../../shared/registry/registry.js';
import type { ClusterView } from '../lead/cluster-view.js';
import type { DrainedNodes } from '../lead/drained-nodes.js';
import type { StoreClock } from '../schedule/store-clock.js';
import type { TrackerFacts } from './node-list.js';

/** The trackers of the map; of itself this one knows more. */
export function trackerFacts({ assignment, tzdata }: ClusterView, drained: DrainedNodes, self: Member | undefined, clock: StoreClock): TrackerFacts[] {
  const own = { since: self?.startedAt ?? 0, version: self?.version ?? '', pid: process.pid, host: hostname(), clock_offset: clock.hostOffsetMs };
  return (assignment?.trackers ?? []).map((tracker) => ({
    ...tracker,
    tzdata: tzdata.get(tracker.incarnation) ?? '',
    ...(tracker.incarnation === self?.incarnation ? own : {}),
    leaving: drained.isLeaving(tracker.incarnation),
    drained: drained.has(tracker.nodeId),
  }));
}
