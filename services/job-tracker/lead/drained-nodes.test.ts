import { describe, expect, it } from 'vitest';
import { silentLogger } from '../../../shared/log/logger.js';
import { LocalRegistry } from '../../../shared/registry/registries/local.js';
import { LocalRegistryHub } from '../../../shared/registry/registries/local-hub.js';
import { settle, VirtualClock } from '../../../test/kit/virtual-clock.js';
import { DrainedNodes } from './drained-nodes.js';

const anyone = (): void => undefined;

function follower(hub: LocalRegistryHub): { nodes: DrainedNodes; changes: () => number } {
  const nodes = new DrainedNodes(new LocalRegistry(hub), new VirtualClock(), silentLogger);
  let changes = 0;
  nodes.follow(() => changes++);
  return { nodes, changes: () => changes };
}

describe('DrainedNodes', () => {
  it('is one list for all trackers, and tells of changes', async () => {
    const hub = new LocalRegistryHub();
    const [here, there] = [follower(hub), follower(hub)];
    expect(here.nodes.known).toBe(false);
    await settle();
    expect(here.nodes.known).toBe(true);
    expect(await Promise.all([here.nodes.drain('w1', anyone), there.nodes.drain('w2', anyone)])).toEqual([true, true]);
    await settle();
    for (const { nodes } of [here, there]) expect(nodes.byHand.map(({ nodeId }) => nodeId).toSorted()).toEqual(['w1', 'w2']);
    expect(await there.nodes.drain('w1', anyone)).toBe(false);
    expect(await there.nodes.undrain('w1')).toBe(true);
    expect(await there.nodes.undrain('w1')).toBe(false);
    await settle();
    expect([here.nodes.has('w1'), here.nodes.has('w2')]).toEqual([false, true]);
    expect(here.changes()).toBeGreaterThanOrEqual(3);
  });

  it('keeps apart who leaves and who is drained, and forgets who has left', async () => {
    const { nodes } = follower(new LocalRegistryHub());
    await nodes.leaving('a', 'a-1', () => true);
    await nodes.leaving('b', 'b-1', (incarnation) => incarnation !== 'a-1');
    await settle();
    expect([nodes.isLeaving('a-1'), nodes.isLeaving('b-1'), nodes.has('b')]).toEqual([false, true, false]);
    expect(nodes.byHand).toEqual([]);
    expect(await nodes.undrain('b')).toBe(false);
  });

  it.each([['no JSON', 'x'], ['another form', '{"a":1}'], ['too many', JSON.stringify(Array.from({ length: 1_001 }, () => ({ nodeId: 'w', incarnation: '', since: 0 })))]])(
    'counts nobody as drained when the document is not readable: %s',
    async (_what, text) => {
      const hub = new LocalRegistryHub();
      await new LocalRegistry(hub).document('drained').write(Buffer.from(text), 'create');
      const { nodes } = follower(hub);
      await settle();
      expect([nodes.known, nodes.byHand.length]).toEqual([true, 0]);
      await nodes.drain('w1', anyone);
      await settle();
      expect(nodes.has('w1')).toBe(true);
    },
  );

  it('tells of a document that is not readable without its text', async () => {
    const hub = new LocalRegistryHub();
    const registry = new LocalRegistry(hub);
    await registry.document('drained').write(Buffer.from(JSON.stringify(Array.from({ length: 2_000 }, () => 'secret'))), 'create');
    const told: unknown[] = [];
    new DrainedNodes(registry, new VirtualClock(), { ...silentLogger, error: (_event, fields) => void told.push(fields) }).follow(() => undefined);
    await settle();
    expect(told).toEqual([{ what: expect.stringContaining('not readable') }]);
  });

  it('is bounded', async () => {
    const hub = new LocalRegistryHub();
    const full = Array.from({ length: 1_000 }, (_, i) => ({ nodeId: `w${i}`, incarnation: '', since: 0 }));
    await new LocalRegistry(hub).document('drained').write(Buffer.from(JSON.stringify(full)), 'create');
    await expect(follower(hub).nodes.drain('one more', anyone)).rejects.toMatchObject({ reason: 'INVALID_ARGUMENT' });
  });
});
