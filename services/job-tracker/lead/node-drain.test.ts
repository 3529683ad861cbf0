import { beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../../shared/log/logger.js';
import { LocalRegistryHub } from '../../../shared/registry/registries/local-hub.js';
import { LocalRegistry } from '../../../shared/registry/registries/local.js';
import { settle, VirtualClock } from '../../../test/kit/virtual-clock.js';
import { DrainedNodes } from './drained-nodes.js';
import { NodeDrain } from './node-drain.js';

describe('NodeDrain', () => {
  let hub: LocalRegistryHub;
  let nodes: DrainedNodes;
  let drain: NodeDrain;
  let trackers: string[];

  beforeEach(() => {
    hub = new LocalRegistryHub();
    trackers = ['a', 'b'];
    nodes = drained();
    nodes.follow(() => undefined);
    drain = drainBy(nodes);
  });

  const drained = (): DrainedNodes => new DrainedNodes(new LocalRegistry(hub), new VirtualClock(), silentLogger);
  const drainBy = (known: DrainedNodes): NodeDrain =>
    new NodeDrain(known, { trackers: () => trackers.map((nodeId) => ({ nodeId, incarnation: `${nodeId}-1`, address: '' })), workers: () => ['w1', 'w2'] });
  /** A tracker that has heard of no drain. */
  const notToldYet = (): NodeDrain => drainBy(drained());

  it('drains trackers and workers, and names the known ones for any other', async () => {
    expect(await drain.drain('a')).toBe(true);
    expect(await drain.drain('w1')).toBe(true);
    expect(await drain.drain('w1')).toBe(false);
    await expect(drain.drain('w3')).rejects.toMatchObject({ reason: 'NOT_FOUND', message: expect.stringContaining('a, b, w1, w2') });
    await expect(drain.drain('')).rejects.toMatchObject({ reason: 'INVALID_ARGUMENT' });
  });

  it('leaves partitions with somebody', async () => {
    await drain.drain('a');
    await settle();
    await expect(drain.drain('b')).rejects.toMatchObject({ reason: 'LAST_TRACKER' });
    expect(drain.ignored).toBe(false);
    trackers = ['a'];
    expect(drain.ignored).toBe(true);
  });

  it('leaves partitions with somebody when several are asked at the same moment', async () => {
    trackers = ['a', 'b', 'c'];
    const all = await Promise.allSettled(trackers.map((nodeId) => notToldYet().drain(nodeId)));
    await settle();
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    expect(all.find((each) => each.status === 'rejected')).toMatchObject({ reason: { reason: 'LAST_TRACKER' } });
    expect(nodes.byHand).toHaveLength(2);
    const [last] = nodes.byHand;
    expect(await drain.drain(last?.nodeId ?? '')).toBe(false);
  });

  it('counts on no tracker that is about to leave', async () => {
    await nodes.leaving('b', 'b-1', () => true);
    await settle();
    await expect(drain.drain('a')).rejects.toMatchObject({ reason: 'LAST_TRACKER' });
  });

  it('undrains also a node that is away, and names the drained ones for any other', async () => {
    await drain.drain('w1');
    await drain.drain('w2');
    await settle();
    trackers = [];
    expect(await new NodeDrain(nodes, { trackers: () => [], workers: () => [] }).undrain('w1')).toBe(true);
    expect(await drain.undrain('w1')).toBe(false);
    await settle();
    await expect(drain.undrain('w3')).rejects.toMatchObject({ reason: 'NOT_FOUND', message: expect.stringContaining('drained are w2') });
  });
});
