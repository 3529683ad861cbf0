import { describe, expect, it } from 'vitest';
import { type Fault, planFaults, type Targets } from '../plan.js';

const targets: Targets = {
  trackers: ['a', 'b', 'c'],
  workers: ['w1', 'w2', 'w3'],
  clients: ['c1', 'c2', 'gateway'],
  zookeepers: ['zk1', 'zk2', 'zk3'],
  postgres: 'postgres',
  links: ['a→zookeeper', 'a→postgres', 'w1→a', 'c1→a'],
  clocks: ['a', 'w1', 'c1'],
  disks: ['w1', 'c1'],
};
const durationMs = 600_000;
const sessionMs = 3_000;
const plan = (seed: number, some: Targets = targets): Fault[] => planFaults({ seed, durationMs, sessionMs, targets: some });
const seeds = Array.from({ length: 50 }, (_, seed) => seed);

describe('planFaults', () => {
  it('follows from the seed alone', () => {
    expect(plan(7)).toEqual(plan(7));
    expect(plan(7)).not.toEqual(plan(8));
  });

  it('breaks something every few seconds and heals it within the time', () => {
    for (const seed of seeds) {
      const faults = plan(seed);
      expect(faults.length).toBeGreaterThan(durationMs / 10_000);
      for (const { atMs, forMs } of faults) {
        expect(forMs).toBeGreaterThan(0);
        expect(atMs + forMs).toBeLessThanOrEqual(durationMs);
      }
    }
  });

  it('never breaks what is broken, nor more than three things at once', () => {
    for (const seed of seeds) {
      const faults = plan(seed);
      for (const fault of faults) {
        const open = faults.filter((other) => other.n < fault.n && other.atMs + other.forMs > fault.atMs);
        expect(open.length).toBeLessThan(3);
        expect(open.map(({ target }) => target)).not.toContain(fault.target);
      }
    }
  });

  it('touches no ZooKeeper while two of three are away', () => {
    for (const seed of seeds) {
      const faults = plan(seed);
      for (const { atMs, forMs } of faults.filter(({ kind }) => kind === 'quorum-loss')) {
        const during = faults.filter((other) => other.atMs < atMs + forMs && other.atMs + other.forMs > atMs && other.target.startsWith('zk'));
        expect(during).toHaveLength(1);
      }
    }
  });

  it('comes to every kind, every target and every length', () => {
    const faults = seeds.flatMap((seed) => plan(seed));
    const kinds = ['kill', 'pause', 'quorum-loss', 'crash', 'kill-backend', 'pause-backend', 'cut', 'hold', 'one-way', 'slow', 'half-open', 'clock', 'disk-full'];
    expect(new Set(faults.map(({ kind }) => kind))).toEqual(new Set(kinds));
    const { trackers, workers, clients, zookeepers, links } = targets;
    expect(new Set(faults.map(({ target }) => target))).toEqual(new Set([...trackers, ...workers, ...clients, ...zookeepers, 'postgres', ...links]));
    const pauses = faults.filter(({ kind }) => kind === 'pause').map(({ forMs }) => forMs);
    expect(new Set(pauses)).toEqual(new Set([0.5 * sessionMs, 1.5 * sessionMs, 5 * sessionMs]));
    expect(new Set(faults.filter(({ kind }) => kind === 'one-way').map(({ detail }) => detail))).toEqual(new Set([0, 1]));
  });

  it('leaves out what is not there', () => {
    const { postgres: _none, ...rest } = targets;
    const faults = seeds.flatMap((seed) => plan(seed, { ...rest, disks: [], clocks: [] }));
    expect(faults.filter(({ kind, target }) => target === 'postgres' || kind === 'disk-full' || kind === 'clock')).toEqual([]);
  });
});
