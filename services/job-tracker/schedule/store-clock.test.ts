import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../test/kit/virtual-clock.js';
import type { StoreHealth } from '../queue/queue-store.js';
import { StoreClock } from './store-clock.js';

const hour = 3_600_000;

/** A server whose clock goes on with real time, seen from a host whose wall clock may be set. */
class Server {
  readonly host: VirtualClock;
  readonly clock: StoreClock;
  readonly jumps: number[] = [];
  away = false;
  #offset: number;
  /** Told in place of the true offset, once. */
  wrong: number | undefined;

  constructor(hostAheadMs: number) {
    this.host = new VirtualClock();
    this.host.step(hostAheadMs);
    this.#offset = this.host.now() - hostAheadMs - this.host.monotonic();
    this.clock = new StoreClock(this.host, (byMs) => this.jumps.push(byMs));
  }

  get now(): number {
    return this.host.monotonic() + this.#offset;
  }

  /** The server's own clock is set. */
  step(byMs: number): void {
    this.#offset += byMs;
  }

  readonly store = {
    health: (): Promise<StoreHealth> => {
      const clockOffsetMs = this.wrong ?? this.now - this.host.now();
      this.wrong = undefined;
      return Promise.resolve({ state: this.away ? 'AWAY' : 'OK', message: '', freeBytes: undefined, clockOffsetMs, warnings: [] });
    },
  };

  measure(): Promise<StoreHealth> {
    return this.clock.measure(this.store);
  }
}

describe('StoreClock', () => {
  it('makes hosts agree whose clocks are two hours apart', async () => {
    for (const aheadMs of [hour, -hour]) {
      const server = new Server(aheadMs);
      await server.measure();
      expect(server.clock.now()).toBe(server.now);
      expect(server.clock.hostOffsetMs).toBe(aheadMs);
      expect(server.jumps).toEqual([]);
      await server.host.advance(10_000);
      expect(server.clock.now()).toBe(server.now);
    }
  });

  it('is not moved when this host is set, neither at once nor by the next measurement', async () => {
    const server = new Server(0);
    await server.measure();
    for (const byMs of [hour, -2 * hour, hour]) {
      server.host.step(byMs);
      expect(server.clock.now()).toBe(server.now);
      await server.host.advance(1_000);
      await server.measure();
      expect(server.clock.now()).toBe(server.now);
    }
    expect(server.jumps).toEqual([]);
  });

  it('does not believe a jump that shows only once', async () => {
    const server = new Server(0);
    await server.measure();
    server.wrong = hour;
    await server.measure();
    expect(server.clock.now()).toBe(server.now);
    expect(server.jumps).toEqual([]);
  });

  it('follows the store when that is set, and tells it', async () => {
    const server = new Server(hour);
    await server.measure();
    server.step(-hour);
    await server.measure();
    expect(server.clock.now()).toBe(server.now);
    expect(server.jumps).toEqual([-hour]);
    server.step(500);
    await server.measure();
    expect(server.clock.now()).toBe(server.now);
    expect(server.jumps).toEqual([-hour]);
  });

  it('goes on while the store is away, and is not measured by what it said before', async () => {
    const server = new Server(hour);
    server.away = true;
    let known = false;
    void server.clock.known(server.store, () => false).then(() => (known = true));
    await server.host.advance(5_000);
    expect(known).toBe(false);
    server.away = false;
    await server.host.advance(500);
    expect(known).toBe(true);
    expect(server.clock.now()).toBe(server.now);
    server.away = true;
    server.wrong = 7 * hour;
    await server.measure();
    await server.host.advance(5_000);
    expect(server.clock.now()).toBe(server.now);
  });

  it('tells whole milliseconds that stay with the clock of the host when the store has none of its own', async () => {
    const server = new Server(0);
    await server.host.advance(0.7);
    server.step(0.4);
    await server.measure();
    expect(Number.isInteger(server.clock.now())).toBe(true);
  });
});
