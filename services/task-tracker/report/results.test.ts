import { describe, expect, it } from 'vitest';
import type { TaskResult } from '../../../shared/grpc/generated/lts/v1/TaskResult.js';
import type { WorkRequest } from '../../../shared/grpc/generated/lts/v1/WorkRequest.js';
import { silentLogger } from '../../../shared/log/logger.js';
import { VirtualClock } from '../../../test/kit/virtual-clock.js';
import { Attempts, keyOf } from '../stream/attempts.js';
import { Results } from './results.js';

/** A book whose disk takes results while `room` is true. */
function setUp(stored: TaskResult[] = []): { book: Results; attempts: Attempts; clock: VirtualClock; disk: TaskResult[]; store: { room: boolean }; finish: (id: string, message?: string) => void } {
  const clock = new VirtualClock();
  const attempts = new Attempts();
  const disk = [...stored];
  const store = {
    room: true,
    keep: (results: readonly TaskResult[]) => store.room && disk.push(...results) > 0,
    forget: (results: readonly TaskResult[]) => {
      for (const result of results) disk.splice(disk.indexOf(result), 1);
    },
    load: () => [...disk],
  };
  const book = new Results({ attempts, store, clock, log: silentLogger, onWaiting: () => undefined });
  const finish = (id: string, message = ''): void => {
    const attempt = attempts.accept(keyOf(id, 1), id, 1, 1);
    attempts.ended(attempt);
    book.add(attempt, { instance_id: id, attempt: 1, incarnation: 'x', outcome: 'ATTEMPT_OUTCOME_SUCCESS', message });
  };
  return { book, attempts, clock, disk, store, finish };
}

const ids = (frame: WorkRequest | undefined): (string | undefined)[] => (frame?.results?.results ?? []).map((result) => result.instance_id);
const refusal = (id: string, reason: 'REFUSAL_REASON_LOADING' | 'REFUSAL_REASON_STALE') => ({ instance_id: id, attempt: 1, reason });

describe('Results', () => {
  it('go to the newest stream only, all of them again', () => {
    const { book, finish } = setUp();
    const [first, second] = [{ closed: false }, { closed: false }];
    finish('a');
    expect(book.nextFrame(first)).toBeUndefined();
    book.setHome(first);
    expect(ids(book.nextFrame(first))).toEqual(['a']);
    finish('b');
    book.setHome(second);
    expect(book.nextFrame(first)).toBeUndefined();
    const frame = book.nextFrame(second);
    expect(ids(frame)).toEqual(['a', 'b']);
    expect(frame?.results?.sequence).toBe(1);
    // An ack of the older stream settles its attempts all the same.
    book.ack(first, { sequence: 1, refusals: [] });
    expect(book.unacked).toBe(1);
  });

  it('are put on the disk after a second without an ack, and taken from it when acked', async () => {
    const { book, clock, disk, finish } = setUp();
    const home = { closed: false };
    book.setHome(home);
    finish('a');
    book.nextFrame(home);
    await clock.advance(900);
    finish('b');
    await clock.advance(400);
    expect(disk.map((result) => result.instance_id)).toEqual(['a']);
    book.nextFrame(home);
    book.ack(home, { sequence: 1, refusals: [] });
    book.ack(home, { sequence: 2, refusals: [] });
    await clock.advance(250);
    expect(disk).toEqual([]);
  });

  it('stay in memory while the disk takes none, and go there when it does', async () => {
    const { book, clock, disk, store, finish } = setUp();
    store.room = false;
    finish('a');
    await clock.advance(5_000);
    expect(book.unacked).toBe(1);
    store.room = true;
    await clock.advance(500);
    expect(disk.length).toBe(1);
  });

  it('refused for now come again after a pause, those refused for good are forgotten', async () => {
    const { book, attempts, clock, finish } = setUp();
    const home = { closed: false };
    book.setHome(home);
    for (const id of ['kept', 'late', 'done']) finish(id);
    book.nextFrame(home);
    book.ack(home, { sequence: 1, refusals: [refusal('kept', 'REFUSAL_REASON_LOADING'), refusal('late', 'REFUSAL_REASON_STALE')] });
    expect(Array.from(attempts.all, ({ instanceId }) => instanceId)).toEqual(['kept']);
    expect(book.nextFrame(home)).toBeUndefined();
    await clock.advance(200);
    expect(ids(book.nextFrame(home))).toEqual(['kept']);
  });

  it('of earlier incarnations are sent under their own name', () => {
    const { book, attempts, disk } = setUp([{ instance_id: 'old', attempt: 2, incarnation: 'earlier', message: 'm' }]);
    expect(Array.from(attempts.all, ({ instanceId, attempt, result }) => [instanceId, attempt, result !== undefined])).toEqual([['old', 2, true]]);
    const home = { closed: false };
    book.setHome(home);
    expect(book.nextFrame(home)?.results?.results).toEqual([{ instance_id: 'old', attempt: 2, incarnation: 'earlier', message: 'm' }]);
    book.ack(home, { sequence: 1, refusals: [] });
    book.close();
    expect(disk).toEqual([]);
  });

  it('fill frames of bounded size, and stop the intake when too many wait', () => {
    const { book, finish } = setUp();
    const home = { closed: false };
    book.setHome(home);
    for (let i = 0; i < 10_000; i++) finish(`${i}`, i < 100 ? 'x'.repeat(60_000) : '');
    expect(book.overloaded).toBe(true);
    const sizes: number[] = [];
    for (let frame = book.nextFrame(home); frame !== undefined; frame = book.nextFrame(home)) {
      sizes.push(JSON.stringify(frame).length);
      book.ack(home, { sequence: Number(frame.results?.sequence), refusals: [] });
    }
    expect(Math.max(...sizes)).toBeLessThan(1024 * 1024);
    expect(book.overloaded).toBe(false);
    expect(book.unacked).toBe(0);
  });
});
