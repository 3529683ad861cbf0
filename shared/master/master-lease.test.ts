import { beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../test/kit/virtual-clock.js';
import { MasterLease, type Mastership } from './master-lease.js';

describe('MasterLease', () => {
  let clock: VirtualClock;
  let changes: Mastership[];
  let lease: MasterLease;
  const hear = (self: boolean, nodeId: string, token: number, heard = 0): void => lease.heard({ self, node_id: nodeId, token, lease: 1_000, heard });

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

  it('counts from the time of this node that the tracker brings back, not from the arrival', async () => {
    await clock.advance(5_000);
    const told = lease.time;
    hear(true, 'me', 6, told);
    await clock.advance(600);
    hear(true, 'me', 6, told);
    await clock.advance(399);
    expect(lease.token).toBe(6);
    await clock.advance(1);
    expect(lease.token).toBe(0);
    expect(changes.map(({ master }) => master)).toEqual([true, false]);
  });

  it('is not held by frames that lay there while the process stood still', () => {
    const told = lease.time;
    hear(true, 'me', 6, told);
    clock.stand(1_500);
    for (let i = 0; i < 3; i++) hear(true, 'me', 6, told);
    expect([lease.token, lease.mastership.master]).toEqual([0, false]);
    hear(true, 'me', 6, lease.time);
    expect([lease.token, lease.mastership.master]).toEqual([6, true]);
  });

  it('takes nothing over from an earlier time as master', async () => {
    await clock.advance(1);
    const early = lease.time;
    await clock.advance(900);
    hear(true, 'me', 6, lease.time);
    hear(false, 'b', 7, lease.time);
    await clock.advance(500);
    hear(true, 'me', 8, early);
    expect(lease.token).toBe(0);
  });

  it('keeps its lease when an older frame comes later', async () => {
    await clock.advance(1);
    const early = lease.time;
    await clock.advance(500);
    hear(true, 'me', 6, lease.time);
    hear(true, 'me', 6, early);
    await clock.advance(999);
    expect(lease.token).toBe(6);
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
