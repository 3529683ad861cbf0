import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Logger, silentLogger } from '../../../shared/log/logger.js';
import { LocalRegistryHub } from '../../../shared/registry/registries/local-hub.js';
import { LocalRegistry } from '../../../shared/registry/registries/local.js';
import type { Member } from '../../../shared/registry/registry.js';
import { VirtualClock } from '../../../test/kit/virtual-clock.js';
import type { Assignment } from './assign.js';
import { decodeAssignment } from './assignment-codec.js';
import { ClusterView } from './cluster-view.js';
import { DrainedNodes } from './drained-nodes.js';
import { Lead } from './lead.js';

const partitions = 4;

/** A tracker as far as the lead goes. */
class Standing {
  readonly registry: LocalRegistry;
  readonly lead: Lead;
  assigned: readonly number[] = [];
  onAssigned: (partitions: readonly number[]) => void = () => undefined;

  readonly warnings: unknown[] = [];

  readonly view = new ClusterView();

  constructor(nodeId: string, hub: LocalRegistryHub, clock: VirtualClock, incarnation = `${nodeId}-1`, address = '127.0.0.1:1', tzdata?: string) {
    this.registry = new LocalRegistry(hub, silentLogger);
    const member: Member = { kind: 'job-tracker', nodeId, incarnation, nodeGroup: '', address, version: '1', startedAt: 0, tzdata };
    const log: Logger = { ...silentLogger, warn: (event, fields) => void this.warnings.push([event, fields]) };
    const drained = new DrainedNodes(this.registry, clock, silentLogger);
    this.lead = new Lead(this.registry, { assigned: (mine) => this.#follow(mine) }, { member, partitions, spread: true }, this.view, drained, clock, log);
    drained.follow(() => this.lead.reassign());
    this.lead.start();
  }

  #follow(mine: readonly number[]): void {
    this.assigned = mine;
    this.onAssigned(mine);
  }
}

describe('Lead', () => {
  let clock: VirtualClock;
  let hub: LocalRegistryHub;
  let a: Standing;
  let b: Standing;

  beforeEach(async () => {
    clock = new VirtualClock();
    hub = new LocalRegistryHub();
    a = new Standing('a', hub, clock);
    b = new Standing('b', hub, clock);
    await clock.advance(100);
  });

  it('shares the partitions', () => {
    expect([a.assigned.length, b.assigned.length]).toEqual([2, 2]);
  });

  afterEach(async () => {
    await a.registry.close();
    await b.registry.close();
  });

  it('gives the partitions of one whose registration is gone to the others', async () => {
    await b.registry.close();
    await clock.advance(100);
    expect(a.assigned).toEqual([0, 1, 2, 3]);
  });

  it('tells both of two live trackers with one node id, once', async () => {
    hub = new LocalRegistryHub();
    const first = new Standing('same', hub, clock, 'i-1', 'one:1');
    const second = new Standing('same', hub, clock, 'i-2', 'two:2');
    const third = new Standing('other', hub, clock);
    await clock.advance(100);
    const told = (address: string, other: string): unknown[] => [['lead.same_name', expect.objectContaining({ nodeId: 'same', address, other })]];
    expect(first.warnings).toEqual(told('one:1', 'two:2'));
    expect(second.warnings).toEqual(told('two:2', 'one:1'));
    expect(third.warnings).toEqual([]);
    for (const { registry } of [first, second, third]) await registry.close();
  });

  it('tells of trackers that compute times by different rules, once for each change', async () => {
    hub = new LocalRegistryHub();
    const standing = [new Standing('new', hub, clock, 'n-1', 'n:1', '2025b'), new Standing('same', hub, clock, 's-1', 's:1', '2025b'), new Standing('silent', hub, clock)];
    await clock.advance(100);
    expect(standing[0]?.warnings).toEqual([]);
    expect(standing[0]?.view.tzdata).toEqual(new Map([['n-1', '2025b'], ['s-1', '2025b']]));
    const old = new Standing('old', hub, clock, 'o-1', 'o:1', '2024a');
    await clock.advance(100);
    standing.push(old, new Standing('late', hub, clock));
    await clock.advance(100);
    const told = [['tzdata.apart', { why: expect.stringContaining('2024a on old; 2025b on new, same. ') }]];
    expect(standing[0]?.warnings).toEqual(told);
    expect(old.warnings).toEqual(told);
    await old.registry.close();
    await clock.advance(100);
    standing.push(new Standing('old', hub, clock, 'o-2', 'o:1', '2024a'));
    await clock.advance(100);
    expect(standing[0]?.warnings).toHaveLength(2);
    for (const { registry } of standing) await registry.close();
  });

  it('gives nothing to a member whose name no assignment can hold', async () => {
    const odd = new LocalRegistry(hub, silentLogger);
    odd.register({ kind: 'job-tracker', nodeId: 'x'.repeat(200), incarnation: 'x-1', nodeGroup: '', address: '127.0.0.1:1', version: '1', startedAt: 0 });
    await clock.advance(100);
    expect([a.assigned.length, b.assigned.length]).toEqual([2, 2]);
    await odd.close();
  });

  const put = async (text: string): Promise<void> => {
    const document = a.registry.document('assignment');
    const { version } = (await document.read()) ?? { version: 0 };
    await document.write(Buffer.from(text), version);
    await clock.advance(1_000);
  };
  const stored = async (): Promise<Assignment | undefined> => decodeAssignment((await a.registry.document('assignment').read())?.data ?? new Uint8Array());

  it('overwrites an assignment whose leader has a place that nobody has', async () => {
    await put(JSON.stringify({ ...(await stored()), leader: { nodeId: 'b', sequence: 2 ** 31 - 1 }, owners: ['b', 'b', 'b', 'b'] }));
    expect((await stored())?.leader).toEqual({ nodeId: 'a', sequence: 0 });
    expect([a.assigned.length, b.assigned.length]).toEqual([2, 2]);
  });

  it('writes one that cannot be read anew, and moves nothing for it', async () => {
    await put(JSON.stringify({ ...(await stored()), owners: ['b', 'a', 'b', 'a'] }));
    const [mine, theirs] = [a.assigned, b.assigned];
    expect([mine, theirs]).toEqual([[1, 3], [0, 2]]);
    const seen: (readonly number[])[] = [];
    a.onAssigned = (partitions) => seen.push(partitions);
    await put('{"leader":');
    expect((await stored())?.owners).toHaveLength(partitions);
    expect([a.assigned, b.assigned]).toEqual([mine, theirs]);
    expect(new Set(seen.map(String))).toEqual(new Set([String(mine)]));
  });

  it('waits after an outage for those who have not registered anew yet, but not for ever', async () => {
    const [before] = [a.assigned];
    b.registry.suspend();
    a.registry.expire();
    b.registry.expire();
    await clock.advance(1_900);
    expect(a.assigned).toEqual(before);
    await clock.advance(200);
    expect(a.assigned).toEqual([0, 1, 2, 3]);
  });
});
