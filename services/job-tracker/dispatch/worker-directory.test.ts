import { beforeEach, describe, expect, it } from 'vitest';
import { StreamWriter } from '../../../shared/grpc/stream-writer.js';
import { LtsError } from '../../../shared/errors/lts-error.js';
import { silentLogger } from '../../../shared/log/logger.js';
import { VirtualClock } from '../../../test/kit/virtual-clock.js';
import { type Execution, OwnedGroups } from '../queue/owned-groups.js';
import type { Worker } from './worker.js';
import { WorkerDirectory } from './worker-directory.js';
import { type RawTask, type RawWorkResponse, WorkerSession } from './worker-session.js';

const graceMs = 10_000;
const policy = { maxRetryTimes: 0, timeoutMs: 0, maxLost: 3, failOnLoss: false };

class Bench {
  readonly clock = new VirtualClock();
  readonly groups = new OwnedGroups(1_000);
  readonly drained = new Set<string>();
  readonly lost: string[] = [];
  readonly unstarted: string[] = [];
  readonly slots: string[] = [];
  readonly ends: (string | undefined)[] = [];
  readonly mended: [string, Record<string, unknown>][] = [];
  readonly directory = new WorkerDirectory(
    this.groups,
    {
      slotsChanged: (group) => this.slots.push(group),
      lost: (execution) => this.lost.push(execution.id),
      unstarted: (execution) => this.unstarted.push(execution.id),
      mended: (kind, fields) => this.mended.push([kind, fields]),
    },
    { trackerId: () => 'jt', storeId: () => 'store', isDrained: (nodeId) => this.drained.has(nodeId), graceMs, pingIntervalMs: 1_000 },
    this.clock,
    silentLogger,
  );

  adopt(executing: { id: string; incarnation: string }[] = []): void {
    const rows = executing.map(({ id, incarnation }, seq) => ({
      seq,
      id,
      nodeGroup: 'g',
      taskId: id,
      type: 'default',
      priority: 100,
      dueAt: 0,
      scheduledAt: 0,
      attempt: 1,
      fence: 1,
      worker: { nodeId: 'w', incarnation },
      assignedAt: 0,
      cancelling: false,
      retryTimes: 0,
      lostTimes: 0,
      policy,
    }));
    this.groups.adopt({ partition: 0, epoch: 4 }, { groups: [], executing: rows, nextDueAt: undefined, schedules: { guarded: [], resting: [], left: [] } });
    this.groups.confirm([{ partition: 0, epoch: 4 }], Number.POSITIVE_INFINITY);
    this.directory.adopted(0);
  }

  connect(incarnation: string, predecessors: string[] = [], nodeId = 'w', masterToken = 0): { worker: Worker; session: WorkerSession; frames: RawWorkResponse[] } {
    const frames: RawWorkResponse[] = [];
    const stream = { write: (frame: RawWorkResponse) => frames.push(frame) > 0, once: () => undefined };
    const writer = new StreamWriter<RawWorkResponse>(stream, { onStall: () => undefined, clock: this.clock });
    const session = new WorkerSession({ writer, end: (error) => this.ends.push(error?.reason), room: () => undefined, read: () => undefined }, this.clock.monotonic());
    const hello = { node_id: nodeId, incarnation, node_group: 'g', types: [], work_threads: 4, host: '', pid: 0, version: '', predecessors, master_token: masterToken, monotonic: 0 };
    return { worker: this.directory.open(hello, 'peer', session), session, frames };
  }
}

const kinds = (frames: RawWorkResponse[]): string[] => frames.flatMap((frame) => Object.keys(frame));
const held = (id: string, more: { attempt?: number; finished?: boolean } = {}): { instance_id: string; attempt: number; finished: boolean } => ({ instance_id: id, attempt: 1, finished: false, ...more });
const ids = (executions: Iterable<Execution>): string[] => [...executions].map(({ id }) => id);

describe('WorkerDirectory', () => {
  let bench: Bench;
  beforeEach(() => {
    bench = new Bench();
  });

  it('welcomes a worker, tells it what is owned, and gives it no tasks before its inventory', () => {
    bench.adopt();
    const { worker, frames } = bench.connect('i1');
    bench.directory.slots(worker, 4);
    expect(kinds(frames)).toEqual(['welcome', 'owns']);
    expect(frames[1]?.owns).toEqual({ store_id: 'store', partitions: [{ partition: 0, epoch: 4 }], question: 1 });
    expect(worker.credits).toBe(0);
    bench.directory.inventory(worker, [], true);
    expect(worker.credits).toBe(4);
  });

  it('brings back to the master the newest time of its clock', async () => {
    bench.adopt();
    const { worker, session, frames } = bench.connect('i1');
    bench.directory.inventory(worker, [], true);
    bench.directory.clocks.pong(worker, session, { nonce: 0, running: 0, blocked: 0, clock: 0, monotonic: 77 });
    await bench.clock.advance(graceMs);
    expect(frames.at(-1)?.master?.heard).toBe(77);
  });

  it('leaves the mastership to the worker that answers that it has it, not to one that said so in its Hello', () => {
    bench.adopt();
    const [former, present] = [bench.connect('i1', [], 'former', 9), bench.connect('i2', [], 'present')];
    bench.directory.inventory(former.worker, [], true, 1, 0);
    expect(former.frames.some(({ master }) => master)).toBe(false);
    bench.directory.inventory(present.worker, [], true, 1, 10);
    expect(present.frames.at(-1)?.master).toMatchObject({ self: true, node_id: 'present' });
    expect(former.frames.at(-1)?.master).toMatchObject({ self: false, node_id: 'present' });
  });

  it('loses nothing before the grace time is over, and everything then', async () => {
    bench.adopt([{ id: 'a', incarnation: 'i1' }]);
    await bench.clock.advance(graceMs - 1);
    expect(bench.lost).toEqual([]);
    await bench.clock.advance(1);
    expect(bench.lost).toEqual(['a']);
  });

  it('keeps what the same incarnation lists, and sends again what it does not', async () => {
    bench.adopt([{ id: 'a', incarnation: 'i1' }, { id: 'b', incarnation: 'i1' }]);
    const { worker } = bench.connect('i1');
    bench.directory.inventory(worker, [held('a')], true);
    await bench.clock.advance(graceMs * 2);
    expect(bench.lost).toEqual([]);
    expect(ids(worker.executions)).toEqual(['a', 'b']);
    expect(ids(worker.resend)).toEqual(['b']);
  });

  describe('of a cancelled attempt that the worker does not have', () => {
    const only = (): Execution => [...bench.groups.executions.values()][0] as Execution;

    it('ends what was cancelled before the worker told what it has', () => {
      bench.adopt([{ id: 'a', incarnation: 'i1' }]);
      only().cancelling = true;
      const { worker } = bench.connect('i1');
      bench.directory.inventory(worker, [], true);
      expect([ids(worker.resend), bench.unstarted]).toEqual([[], ['a']]);
    });

    it('ends what waits to be sent again', () => {
      bench.adopt([{ id: 'a', incarnation: 'i1' }]);
      const { worker } = bench.connect('i1');
      bench.directory.inventory(worker, [], true);
      expect(ids(worker.resend)).toEqual(['a']);
      only().cancelling = true;
      bench.directory.cancel(only());
      expect([ids(worker.resend), bench.unstarted]).toEqual([[], ['a']]);
    });

    it('ends what could not be written', () => {
      bench.adopt([{ id: 'a', incarnation: 'i1' }]);
      const { worker } = bench.connect('i1');
      bench.directory.inventory(worker, [held('a')], true);
      only().cancelling = true;
      bench.directory.notSent(worker, only());
      expect([ids(worker.resend), bench.unstarted]).toEqual([[], ['a']]);
    });
  });

  it('stops attempts that are over', () => {
    bench.adopt();
    const { worker, frames } = bench.connect('i1');
    bench.directory.inventory(worker, [held('old'), held('done', { finished: true })], true);
    expect(frames.find((frame) => frame.cancels)?.cancels?.attempts).toEqual([{ instance_id: 'old', attempt: 1 }]);
  });

  it('loses at once what a new incarnation of the node does not list as finished', () => {
    bench.adopt([{ id: 'a', incarnation: 'i1' }, { id: 'b', incarnation: 'i1' }]);
    const { worker } = bench.connect('i2', ['i1']);
    expect(bench.lost).toEqual([]);
    bench.directory.inventory(worker, [held('a', { finished: true })], true);
    expect(bench.lost).toEqual(['b']);
  });

  it('starts the grace time when a stream is lost, and takes the credits with it', async () => {
    bench.adopt();
    const { worker, session } = bench.connect('i1');
    bench.directory.inventory(worker, [], true);
    bench.directory.slots(worker, 4);
    bench.directory.closed(worker, session, false);
    expect(worker.credits).toBe(0);
    const again = bench.connect('i1');
    expect(again.worker).toBe(worker);
    bench.directory.inventory(worker, [], true);
    expect(worker.credits).toBe(0);
    await bench.clock.advance(graceMs * 2);
    expect([...bench.directory.all()]).toEqual([worker]);
  });

  it('forgets a worker that has left in good order', () => {
    bench.adopt([{ id: 'a', incarnation: 'i1' }]);
    const { worker, session } = bench.connect('i1');
    bench.directory.closed(worker, session, true);
    expect(bench.unstarted).toEqual(['a']);
    expect([...bench.directory.all()]).toEqual([]);
  });

  it('asks everybody anew after the partition was taken again', () => {
    bench.adopt();
    const { worker, frames } = bench.connect('i1');
    bench.directory.inventory(worker, [], true);
    bench.adopt([{ id: 'a', incarnation: 'i1' }]);
    expect(kinds(frames)).toEqual(['welcome', 'owns', 'owns']);
    expect(worker.confirmed).toBe(false);
    expect(ids(worker.executions)).toEqual(['a']);
  });

  it('lets the newer stream of one process supersede the older one', () => {
    bench.adopt();
    const first = bench.connect('i1');
    const second = bench.connect('i1');
    expect(first.session.closed).toBe(true);
    // The hello of a stream that was given up may come last: its process must not end for it.
    expect(bench.ends).toEqual(['CANCELLED']);
    bench.directory.closed(first.worker, first.session, false);
    expect(second.worker.session).toBe(second.session);
  });

  it('gives up what could not be written to a worker whose grace time is over', async () => {
    bench.adopt([{ id: 'a', incarnation: 'i1' }]);
    const { worker, session } = bench.connect('i1');
    bench.directory.inventory(worker, [held('a')], true);
    bench.directory.closed(worker, session, false);
    await bench.clock.advance(graceMs);
    expect(bench.lost).toEqual(['a']);
    const late = bench.groups.execute({ ...[...worker.executions][0] as Execution, id: 'late' }, 0);
    worker.executions.add(late);
    bench.directory.notSent(worker, late);
    expect(bench.unstarted).toEqual(['late']);
  });

  it('gives an attempt that could not be written to the worker when it is back', () => {
    bench.adopt();
    const { worker } = bench.connect('i1');
    bench.directory.inventory(worker, [], true);
    const before = bench.slots.length;
    const execution = { id: 'a' } as Execution;
    bench.directory.notSent(worker, execution);
    expect(worker.resend).toEqual([execution]);
    expect(bench.slots.length).toBe(before + 1);
  });

  it('starts no grace time for the workers of a partition that was let go, also when it comes back', async () => {
    bench.adopt([{ id: 'x', incarnation: 'i1' }]);
    const { worker, session } = bench.connect('i1');
    bench.directory.inventory(worker, [held('x')], true);
    bench.groups.drop(0);
    bench.directory.dropped(() => false, () => new LtsError('NOT_OWNER', 'moved'));
    bench.directory.closed(worker, session, false);
    expect([...bench.directory.all()]).toEqual([]);
    bench.adopt([{ id: 'x', incarnation: 'i1' }]);
    const again = bench.connect('i1');
    bench.directory.inventory(again.worker, [held('x')], true);
    await bench.clock.advance(2 * graceMs);
    expect(bench.lost).toEqual([]);
  });

  it('gives a drained worker nothing new, but what it was given before', () => {
    bench.adopt([{ id: 'x', incarnation: 'i1' }]);
    const { worker } = bench.connect('i1');
    bench.drained.add('w');
    bench.directory.drainedChanged();
    bench.directory.slots(worker, 4);
    bench.directory.inventory(worker, [], true);
    expect([worker.credits, worker.ownCredits]).toEqual([0, 4]);
    expect(bench.directory.ofGroup('g').canRun('default')).toBe(false);
    expect(ids(worker.resend)).toEqual(['x']);
    expect(bench.connect('i2').worker.drained).toBe(true);
    bench.slots.length = 0;
    bench.drained.clear();
    bench.directory.drainedChanged();
    expect(worker.credits).toBe(4);
    expect(bench.slots).toContain('g');
  });

  describe('that asks a connected worker again', () => {
    const everyMs = 60_000;
    const question = (frames: RawWorkResponse[]): number => frames.flatMap((frame) => frame.owns?.question ?? []).at(-1) as number;

    /** A worker that has answered its first question, with these attempts of the store. */
    async function working(bench: Bench, listed: string[]): Promise<ReturnType<Bench['connect']>> {
      bench.adopt(listed.map((id) => ({ id, incarnation: 'i1' })));
      const connected = bench.connect('i1');
      bench.directory.inventory(connected.worker, listed.map((id) => held(id)), true, question(connected.frames));
      bench.directory.slots(connected.worker, 4);
      await bench.clock.advance(everyMs);
      return connected;
    }

    it('sends again what it has lost since it was sent to it, and stops nothing meanwhile', async () => {
      const { worker, frames } = await working(bench, ['a', 'b', 'c']);
      bench.directory.askAgain();
      expect(question(frames)).toBe(2);
      expect(worker.credits).toBe(4);
      bench.directory.inventory(worker, [held('a'), held('c', { attempt: 2 })], true, 2);
      expect(ids(worker.resend)).toEqual(['b', 'c']);
      expect(bench.mended).toEqual([
        ['ATTEMPT_RESENT', { instanceId: 'b', attempt: 1, worker: 'w' }],
        ['ATTEMPT_RESENT', { instanceId: 'c', attempt: 1, worker: 'w' }],
      ]);
    });

    it('leaves alone what was sent after the question, what has ended since, and what is ending', async () => {
      const { worker } = await working(bench, ['ended', 'ending']);
      bench.directory.askAgain();
      const row = { seq: 9, id: 'new', nodeGroup: 'g', type: 'default', priority: 1, dueAt: 0, scheduledAt: 0, attempt: 1, fence: 1, worker: worker.identity, assignedAt: 0, cancelling: false, retryTimes: 0, lostTimes: 0, policy };
      const sent = bench.groups.execute(row, 0);
      worker.executions.add(sent);
      sent.held = true;
      const [ended, ending] = [...worker.executions] as [Execution, Execution];
      bench.directory.ended(ended);
      ending.finishing = true;
      bench.directory.inventory(worker, [], true, 2);
      expect(worker.resend).toEqual([]);
      expect(bench.mended).toEqual([]);
    });

    it('takes an answer for the question that it names: an old one proves nothing', async () => {
      const { worker } = await working(bench, ['a']);
      bench.directory.askAgain();
      bench.adopt([{ id: 'a', incarnation: 'i1' }]);
      bench.directory.inventory(worker, [], true, 2);
      expect(worker.confirmed).toBe(false);
      bench.directory.inventory(worker, [held('a')], true, 3);
      expect(worker.confirmed).toBe(true);
      expect(worker.resend).toEqual([]);
    });

    it('does not ask a worker that does not repeat the question, and waits while tasks wait to be written', async () => {
      bench.adopt();
      const deaf = bench.connect('i1');
      bench.directory.inventory(deaf.worker, [], true);
      const busy = bench.connect('i2');
      bench.directory.inventory(busy.worker, [], true, 1);
      busy.session.task({ job: Buffer.alloc(1) } as RawTask);
      await bench.clock.advance(everyMs);
      for (let tick = 0; tick < 3; tick++) bench.directory.askAgain();
      expect([question(deaf.frames), question(busy.frames)]).toEqual([1, 1]);
      busy.session.flush();
      bench.directory.askAgain();
      expect([question(deaf.frames), question(busy.frames)]).toEqual([1, 2]);
    });

    it('asks one that never answered once more', async () => {
      bench.adopt();
      const { frames } = bench.connect('i1');
      await bench.clock.advance(everyMs);
      bench.directory.askAgain();
      expect(question(frames)).toBe(2);
      expect(bench.mended).toEqual([['WORKER_ASKED', { worker: 'w' }]]);
    });

    it('does not ask all at once', async () => {
      bench.adopt();
      const all = Array.from({ length: 60 }, (_, i) => bench.connect(`i${i}`));
      for (const { worker } of all) bench.directory.inventory(worker, [], true, 1);
      await bench.clock.advance(everyMs);
      bench.directory.askAgain();
      expect(all.filter(({ frames }) => question(frames) === 2)).toHaveLength(2);
    });
  });

  it('loses what a dead neighbour left, when it is named and not connected', () => {
    bench.adopt([{ id: 'a', incarnation: 'dead' }, { id: 'b', incarnation: 'alive' }]);
    bench.connect('alive');
    const { worker } = bench.connect('i1', ['dead', 'alive'], 'neighbour');
    bench.directory.inventory(worker, [], true, 1);
    expect(bench.lost).toEqual(['a']);
  });

  it('does not speak for another process of its node while that is connected', () => {
    bench.adopt([{ id: 'a', incarnation: 'i1' }]);
    const [execution] = bench.groups.executions.values() as unknown as [Execution];
    bench.connect('i1');
    expect(bench.directory.speaksFor(bench.connect('i2').worker, execution)).toBe('later');
  });

  it('speaks for its node, and for those whose FailStore it holds once they are gone', () => {
    bench.adopt([{ id: 'a', incarnation: 'dead' }]);
    const [execution] = bench.groups.executions.values() as unknown as [Execution];
    const dead = bench.connect('dead');
    const { worker } = bench.connect('i1', [], 'neighbour');
    expect(bench.directory.speaksFor(worker, execution)).toBe('no');
    bench.directory.noteEnded(worker, ['dead', 'never heard of']);
    expect([...worker.delivers]).toEqual(['dead']);
    expect(bench.directory.speaksFor(worker, execution)).toBe('later');
    bench.directory.closed(dead.worker, dead.session, false);
    expect(bench.directory.speaksFor(worker, execution)).toBe('yes');
  });
});
