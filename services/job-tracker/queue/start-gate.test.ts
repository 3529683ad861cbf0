import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../test/kit/virtual-clock.js';
import type { GroupLimits } from './queue-store.js';
import { StartGate } from './start-gate.js';

function open(limits: GroupLimits): { gate: StartGate; clock: VirtualClock; startAll: (executing?: number) => number } {
  const [gate, clock] = [new StartGate(), new VirtualClock()];
  gate.set(limits);
  const startAll = (executing = 0): number => {
    let started = 0;
    for (; started < 10_000 && gate.heldBy(executing, clock) === undefined; started++) gate.begin();
    return started;
  };
  return { gate, clock, startAll };
}

describe('StartGate', () => {
  it('holds nothing without limits', () => {
    expect(open({ backlog: 0 }).startAll()).toBe(10_000);
  });

  it('counts what runs and what is on its way', () => {
    const { gate, startAll } = open({ maxRunning: 5 });
    expect(startAll(2)).toBe(3);
    gate.end(true);
    expect(startAll(3)).toBe(0);
    gate.end(false);
    expect(startAll(3)).toBe(1);
    expect(open({ maxRunning: 0 }).startAll()).toBe(0);
  });

  it('begins with nothing gathered, and gathers what one second gives at most', async () => {
    const { gate, clock, startAll } = open({ startsPerSecond: 5 });
    expect(startAll()).toBe(0);
    expect(gate.heldBy(0, clock)).toBe('startsPerSecond');
    await clock.advance(1_000);
    expect(startAll()).toBe(5);
    await clock.advance(60_000);
    expect(startAll()).toBe(5);
    await clock.advance(200);
    expect(startAll()).toBe(1);
  });

  it('tells when the next one may begin, also below one per second', async () => {
    const { gate, clock, startAll } = open({ startsPerSecond: 0.5 });
    expect(startAll()).toBe(0);
    expect(gate.msToNext(clock)).toBe(2_000);
    await clock.advance(1_500);
    expect(gate.msToNext(clock)).toBe(500);
    expect(startAll()).toBe(0);
    await clock.advance(500);
    expect(startAll()).toBe(1);
    await clock.advance(60_000);
    expect(startAll()).toBe(1);
  });

  it('gives the start back that came to nothing', async () => {
    const { gate, clock, startAll } = open({ startsPerSecond: 2 });
    startAll();
    await clock.advance(1_000);
    expect(startAll()).toBe(2);
    gate.end(false);
    gate.end(true);
    expect(startAll()).toBe(1);
  });

  it('gives nothing back that began under another rate', async () => {
    const { gate, clock, startAll } = open({ maxRunning: 3 });
    expect(startAll()).toBe(3);
    gate.set({ startsPerSecond: 1 });
    for (let i = 0; i < 3; i++) gate.end(false);
    expect(startAll()).toBe(0);
    await clock.advance(1_000);
    expect(startAll()).toBe(1);
    gate.end(false);
    expect(startAll()).toBe(1);
  });

  it('gathers from nothing again when a limit changes, whatever was started before', async () => {
    const { gate, clock, startAll } = open({});
    startAll();
    gate.set({ startsPerSecond: 10 });
    expect(startAll()).toBe(0);
    await clock.advance(1_000);
    gate.set({ startsPerSecond: 3 });
    expect(startAll()).toBe(0);
    await clock.advance(1_000);
    expect(startAll()).toBe(3);
  });

  it('is not moved by a step of the wall clock', async () => {
    const { clock, startAll } = open({ startsPerSecond: 1 });
    startAll();
    clock.step(3_600_000);
    expect(startAll()).toBe(0);
    clock.step(-7_200_000);
    await clock.advance(1_000);
    expect(startAll()).toBe(1);
  });
});
