import { beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../test/kit/virtual-clock.js';
import { MasterLease, type Mastership } from './master-lease.js';

describe('MasterLease', () => {
  let clock: VirtualClock;
  let changes: Mastership[];
  let lease: MasterLease;
  const hear = (self: boolean, nodeId: string, token: number): void => lease.heard({ self, node_id: nodeId, token, lease: 1_000 });

  beforeEach(() => {
    clock = new VirtualClock();
    changes = [];
    lease = new MasterLease(clock, (mastership) => changes.push(mastership));
  });

  it('tells each change once', () => {
    hear(false, 'a', 5);
    hear(false, 'a', 5);
    hear(true, 'me', 6);
    hear(true, 'me', 6);
    hear(false, 'b', 7);
    expect(changes).toEqual([
      { master: false, nodeId: 'a', token: 5 },
      { master: true, nodeId: 'me', token: 6 },
      { master: false, nodeId: 'b', token: 7 },
    ]);
  });

  it('ends when nothing is heard for its length', async () => {
    hear(true, 'me', 6);
    await clock.advance(900);
    hear(true, 'me', 6);
    await clock.advance(999);
    expect(lease.token).toBe(6);
    await clock.advance(1);
    expect(changes.at(-1)).toEqual({ master: false, nodeId: '', token: 6 });
    expect(lease.token).toBe(0);
    hear(true, 'me', 6);
    expect(lease.token).toBe(6);
  });

  it('is over after a pause, before its timer says so', () => {
    hear(true, 'me', 6);
    clock.stand(1_000);
    expect(lease.token).toBe(0);
  });

  it('ignores trackers that are no owner any more, and what other streams of the node are told', () => {
    hear(true, 'me', 6);
    hear(false, 'old', 5);
    hear(false, 'me', 6);
    expect(changes).toEqual([{ master: true, nodeId: 'me', token: 6 }]);
  });

  it('is over when the node leaves, whatever comes then', () => {
    hear(true, 'me', 6);
    lease.close();
    hear(true, 'me', 7);
    expect(changes.map(({ master }) => master)).toEqual([true, false]);
  });
});
