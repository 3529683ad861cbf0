import { describe, expect, it } from 'vitest';
import { StreamWriter } from '../../../shared/grpc/stream-writer.js';
import { newId } from '../../../shared/ids.js';
import { type RawTask, type RawWorkResponse, WorkerSession } from './worker-session.js';

const mib = 1024 * 1024;

/** A session whose stream takes frames only while `open`. */
class Bench {
  readonly written: RawWorkResponse[] = [];
  readonly session: WorkerSession;
  open = true;
  rooms = 0;
  reading = true;
  #drain: () => void = () => undefined;

  constructor() {
    const stream = {
      write: (frame: RawWorkResponse): boolean => {
        this.written.push(frame);
        return this.open;
      },
      once: (_event: 'drain', listener: () => void) => (this.#drain = listener),
    };
    const writer = new StreamWriter<RawWorkResponse>(stream, { onStall: () => undefined });
    this.session = new WorkerSession({ writer, end: () => undefined, room: () => this.rooms++, read: (on) => (this.reading = on) }, 0);
  }

  /** The peer reads again. */
  drain(): void {
    this.open = true;
    this.#drain();
  }
}

const task = (bytes: number): RawTask => ({ instance_id: newId(), attempt: 1, job: Buffer.alloc(bytes) }) as RawTask;

describe('WorkerSession', () => {
  it('has the credits that were granted, less what was sent and reserved', () => {
    const { session } = new Bench();
    session.granted = 5;
    session.reserve(100);
    expect(session.credits).toBe(4);
    session.unreserve(100);
    session.task(task(100));
    expect(session.credits).toBe(4);
  });

  it('has no credits while 16 MiB of tasks wait for a worker that does not read, and tells when there is room', () => {
    const bench = new Bench();
    const { session } = bench;
    session.granted = 1_000;
    bench.open = false;
    session.ping(1);
    let started = 0;
    for (; session.credits > 0; started++) session.task(task(mib));
    expect(started).toBe(16);
    session.flush();
    expect(bench.rooms).toBe(0);
    bench.drain();
    expect(session.credits).toBe(1_000 - 16);
    expect(bench.rooms).toBe(1);
  });

  it('counts what is reserved as if it waited', () => {
    const { session } = new Bench();
    session.granted = 1_000;
    for (let n = 0; n < 16; n++) session.reserve(mib);
    expect(session.credits).toBe(0);
    session.unreserve(mib);
    expect(session.credits).toBe(1_000 - 15);
  });

  it('reads no more from a worker whose results are not settled, or that does not read its acks', () => {
    const bench = new Bench();
    const { session } = bench;
    session.received(15_000);
    session.throttle();
    expect(bench.reading).toBe(true);
    session.received(15_000);
    session.throttle();
    expect([bench.reading, session.paused]).toEqual([false, true]);
    bench.open = false;
    session.ping(1);
    session.ack({ sequence: 1 }, 15_000);
    session.flush();
    expect(bench.reading).toBe(false);
    bench.drain();
    expect([bench.reading, session.paused]).toEqual([true, false]);
  });
});
