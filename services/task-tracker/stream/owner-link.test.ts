import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { LtsError } from '../../../shared/errors/lts-error.js';
import { silentLogger } from '../../../shared/log/logger.js';
import { VirtualClock } from '../../../test/kit/virtual-clock.js';
import { OwnerLink } from './owner-link.js';
import type { WorkCall } from './work-call.js';
import type { SessionHost, WorkSession } from './work-session.js';

/** A link whose calls go nowhere, and the addresses that it called. */
function setUp(): { link: OwnerLink; calls: string[]; noted: string[]; clock: VirtualClock; own: (address: string) => void; fail: (error: LtsError) => void } {
  const clock = new VirtualClock();
  const calls: string[] = [];
  const noted: string[] = [];
  let owner: string | undefined;
  let listener = (): void => undefined;
  const note = (address: string): void => {
    owner = address;
    listener();
  };
  const host = {
    hello: () => ({}),
    nextFrame: () => undefined,
    onClosed: (session: WorkSession, error: LtsError) => link.closed(session, error),
  } as unknown as SessionHost;
  const open = (address: string): WorkCall => {
    calls.push(address);
    const stream = Object.assign(new EventEmitter(), { write: () => true, end: () => undefined });
    return { stream: stream as unknown as WorkCall['stream'], close: () => undefined };
  };
  const link = new OwnerLink(host, {
    nodeGroup: 'g',
    owners: {
      ownerOf: () => owner,
      noteOwner: (_group, address) => note(address),
      forgetOwner: () => void noted.push('forget'),
      noteUnreachable: () => void noted.push('unreachable'),
      onChange: (given) => {
        listener = given;
        return { close: () => undefined };
      },
      close: () => undefined,
    },
    open,
    clock,
    log: silentLogger,
  });
  const fail = (error: LtsError): void => link.sessions[0]?.close(error);
  return { link, calls, noted, clock, own: note, fail };
}

const unreachable = new LtsError('NO_TRACKER', 'connection refused');

describe('OwnerLink', () => {
  it('opens a session as soon as the owner is known, and again after growing pauses', async () => {
    const { calls, clock, own, fail } = setUp();
    expect(calls).toEqual([]);
    own('a:1');
    expect(calls).toEqual(['a:1']);
    const pauses: number[] = [];
    for (let tries = 1; tries <= 6; tries++) {
      fail(unreachable);
      const from = clock.now();
      while (calls.length === tries) await clock.advance(10);
      pauses.push(clock.now() - from);
    }
    expect(pauses[0]).toBeLessThanOrEqual(210);
    expect(pauses[5]).toBeGreaterThanOrEqual(1_000);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(2_010);
  });

  it('follows the owner at once, without a pause, and keeps the old session until the new one is established', () => {
    const { link, calls, own } = setUp();
    own('a:1');
    const [old] = link.sessions;
    own('b:1');
    expect(calls).toEqual(['a:1', 'b:1']);
    expect(old?.retired).toBe(true);
    expect(old?.closed).toBe(false);
    link.established();
    expect(old?.closed).toBe(true);
    expect(link.sessions.map(({ address }) => address)).toEqual(['b:1']);
  });

  it('begins anew with an owner that it had left because of an old map', () => {
    const { link, calls, own, fail } = setUp();
    own('a:1');
    const [left] = link.sessions;
    own('b:1');
    own('a:1');
    expect([left?.closed, calls]).toEqual([true, ['a:1', 'b:1', 'a:1']]);
    // The same when the other one says so, or has closed by then.
    own('b:1');
    fail(new LtsError('NOT_OWNER', 'not me', { owner: 'a:1' }));
    expect(link.sessions.map(({ address, retired }) => [address, retired])).toEqual([['a:1', false]]);
  });

  it('waits for the end of a tracker that is about to go', () => {
    const { link, calls, own } = setUp();
    own('a:1');
    const [session] = link.sessions;
    if (session !== undefined) link.drained(session, '');
    own('a:1');
    expect([session?.closed, calls]).toEqual([false, ['a:1']]);
  });

  it('does not spin between trackers that name each other', async () => {
    const { calls, clock, own, fail } = setUp();
    own('a:1');
    for (let i = 0; i < 20; i++) fail(new LtsError('NOT_OWNER', 'not me', { owner: calls.at(-1) === 'a:1' ? 'b:1' : 'a:1' }));
    expect(calls.length).toBeLessThanOrEqual(4);
    await clock.advance(2_001);
    expect(calls.length).toBe(5);
  });

  it('leaves the map of a tracker that answers alone, until it has denied the group again and again', async () => {
    const { calls, noted, clock, own, fail } = setUp();
    own('a:1');
    for (let tries = 1; tries <= 8; tries++) {
      fail(new LtsError('NOT_OWNER', 'there is no owner yet'));
      while (calls.length === tries) await clock.advance(10);
    }
    expect(noted).toEqual([...Array.from({ length: 7 }, () => 'forget'), 'unreachable']);
    fail(unreachable);
    expect(noted.slice(8)).toEqual(['unreachable']);
  });

  it('tries at once when a tracker has news', () => {
    const { calls, own, fail } = setUp();
    own('a:1');
    fail(unreachable);
    expect(calls.length).toBe(1);
    own('a:1');
    expect(calls.length).toBe(2);
  });

  it('gives a retired session up after 10 s', async () => {
    const { link, clock, own } = setUp();
    own('a:1');
    const [session] = link.sessions;
    if (session !== undefined) link.drained(session, '');
    await clock.advance(9_999);
    expect(session?.closed).toBe(false);
    await clock.advance(2);
    expect(session?.closed).toBe(true);
  });
});
