import fc from 'fast-check';
import { deepStrictEqual as same } from 'node:assert';
import { expect, it } from 'vitest';
import { encodeJob } from '../../shared/grpc/job-codec.js';
import { newId } from '../../shared/ids.js';
import type { Bounded, GroupLimits, LoadedPartition, Outcome, Transition } from '../../services/job-tracker/queue/queue-store.js';
import { admit, allPartitions, cancel, finish, limit, OpenStore, otherWorker, promote, release, start, t0, worker, type StoreBench } from './queue-store-bench.js';
import { bound, type ScheduleStep, scheduleStep, scheduleTransition } from './queue-store-model-schedules.js';
import { QueueModel } from './queue-store-reference.js';

/** One random step; numbers choose among what is there. */
type Step =
  | { do: 'admit'; task: number; dueIn: number; priority: number; replace: boolean; start: boolean; owes: boolean; clientId: boolean; late: boolean }
  | { do: 'again'; pick: number; changed: boolean }
  | { do: 'start' | 'reassign' | 'late'; pick: number; wrong: boolean }
  | { do: 'finish'; pick: number; wrong: boolean; next: 'SUCCEEDED' | 'FAILED' | 'CANCELLED' | 'LOST' | 'retry'; dueIn: number }
  | { do: 'cancel'; pick: number; byTask: boolean; as: 'FAILED' | 'DISCARDED' | undefined; bound: Bounded['bound'] }
  | { do: 'release'; pick: number }
  | ScheduleStep
  | { do: 'promote'; limit: number }
  | { do: 'limit'; limits: GroupLimits };

const pick = fc.nat({ max: 1_000 });
const rarely = fc.nat({ max: 9 }).map((n) => n === 0);
const dueIn = fc.constantFrom(-10, 0, 0, 5, 40);

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('admit' as const), task: fc.nat({ max: 3 }), dueIn, priority: fc.constantFrom(1, 100, 100), replace: fc.boolean(), start: fc.boolean(),
      owes: fc.boolean(), clientId: fc.boolean(), late: rarely,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('again' as const), pick, changed: rarely }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('start' as const, 'start' as const, 'reassign' as const, 'late' as const), pick, wrong: rarely }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('finish' as const), pick, wrong: rarely, dueIn, next: fc.constantFrom('SUCCEEDED' as const, 'FAILED' as const, 'CANCELLED' as const, 'LOST' as const, 'retry' as const, 'retry' as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('cancel' as const), pick, byTask: fc.boolean(), as: fc.constantFrom(undefined, undefined, 'FAILED' as const, 'DISCARDED' as const), bound }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('release' as const), pick }) },
  { weight: 9, arbitrary: scheduleStep },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('promote' as const), limit: fc.constantFrom(1, 100) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('limit' as const), limits: fc.record({ backlog: fc.nat(), maxRunning: fc.nat(), startsPerSecond: fc.constantFrom(0.5, 1 / 3, 100) }, { requiredKeys: [] }),
    }),
  },
);

const run = fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { minLength: 8, maxLength: 25 });

/** Random transitions, beside a small model in memory. */
export function model(bench: () => StoreBench): void {
  it('does what the model does, for random transitions in random batches', async () => {
    const open = await OpenStore.of(bench().connect());
    let runs = 0;
    const property = fc.asyncProperty(run, async (batches) => {
      const test = new ModelRun(open, `group-${++runs}`);
      try {
        for (const batch of batches) await test.commit(batch);
        await test.resendAll();
      } finally {
        await test.endAll();
      }
    });
    await expect(fc.assert(property, { numRuns: 100 })).resolves.toBeUndefined();
    // Some 20,000 questions, each a round trip to a server.
  }, 180_000);
}

/** Without members that are undefined. */
function plain(value: unknown, replace?: (key: string, value: unknown) => unknown): unknown {
  return JSON.parse(JSON.stringify(value, replace));
}

class ModelRun {
  readonly #open: OpenStore;
  readonly #group: string;
  readonly #model: QueueModel;
  readonly #ids = new Map<number, string>();
  readonly #seqs = new Map<string, number>();
  /** By the store's number the id of what was sent first. */
  readonly #scheds = new Map<number, string>();
  #time = 0;
  #now = t0;

  constructor(open: OpenStore, group: string) {
    this.#open = open;
    this.#group = group;
    this.#model = new QueueModel(group);
  }

  async commit(steps: readonly Step[]): Promise<void> {
    this.#now += 10;
    const transitions = steps.map((each) => this.#transition(each)).filter((each) => each !== undefined);
    if (transitions.length === 0) return;
    const outcomes = await this.#open.commit(transitions);
    for (const [i, transition] of transitions.entries()) {
      const outcome = outcomes[i] as Outcome;
      this.#note(transition, outcome);
      same(this.#named(outcome), plain(this.#model.apply(transition, (seq) => this.#ids.get(seq), (sched) => this.#scheds.get(sched))));
    }
    await this.#compare();
  }

  /** Every id that was sent is answered again, with its first answer. */
  async resendAll(): Promise<void> {
    const sent = this.#model.sent();
    for (let from = 0; from < sent.length; from += 100) {
      const some = sent.slice(from, from + 100);
      const outcomes = await this.#open.commit(some.map(({ transition }) => transition));
      same(outcomes, some.map(({ transition: { kind }, first, existingId }) => ({ kind, result: 'again', first, existingId })));
    }
  }

  /** Leaves nothing alive to the next run. */
  async endAll(): Promise<void> {
    const { executing } = await this.#open.store.load(0);
    await this.#open.commit([0, 1, 2, 3, 4].map((task) => cancel({ taskId: `task-${task}` }, { nodeGroup: this.#group })));
    await this.#open.commit(executing.map(({ seq, attempt }) => finish(seq, { attempt })));
  }

  /** Learns the numbers that the store gave. */
  #note(transition: Transition, outcome: Outcome): void {
    const made: [id: string, seq: number][] = [];
    if (transition.kind === 'admit' && outcome.kind === 'admit' && 'seq' in outcome) made.push([transition.id, outcome.seq]);
    if (transition.kind === 'fire' && outcome.kind === 'fire') made.push(...outcome.runs.map(({ seq }, i): [string, number] => [transition.runs[i]?.id ?? '', seq]));
    for (const [id, seq] of made) {
      this.#ids.set(seq, id);
      this.#seqs.set(id, seq);
    }
    if (transition.kind === 'enroll' && outcome.kind === 'enroll' && outcome.result === 'accepted') this.#scheds.set(outcome.sched, transition.id);
  }

  async #compare(): Promise<void> {
    const { store } = this.#open;
    const { rows } = await store.listInstances({ nodeGroup: this.#group, taskId: '', states: [], before: undefined, limit: 1_000 });
    const seen = rows.map(({ id, taskId, state, blocked, attempts, retryTimes, lostTimes, dueAt, endedAt }) => ({
      id, taskId, state, blocked, attempts, retryTimes, lostTimes, endedAt, ...(endedAt === 0 ? { dueAt } : {}),
    }));
    same(seen.toReversed(), this.#model.instances());
    const ready = await store.readReady(this.#group, undefined, 1_000);
    same(ready.map(({ id }) => id), this.#model.readyIds());
    const owed = await store.readFeedback(`${this.#group}-clients`, allPartitions, 0, Number.MAX_SAFE_INTEGER, 1_000);
    same(owed.map(({ id, state }) => `${id} ${state}`), this.#model.owed);
    const loaded = await store.load(0);
    same(loaded.nextDueAt, this.#model.nextDueAt());
    const counts = loaded.groups.find(({ nodeGroup }) => nodeGroup === this.#group) ?? { nodeGroup: this.#group, waiting: 0, ready: 0 };
    same(plain(counts), plain(this.#model.counts()));
    same(await store.readExecuting(0, 0, 1_000), loaded.executing);
    same(await store.nextDue(0), loaded.nextDueAt);
    same(await store.recount(this.#group, 1_000), { waiting: counts.waiting, ready: counts.ready });
    same(loaded.executing.map(({ id, attempt, cancelling }) => ({ id, attempt, cancelling })), this.#model.executing());
    await this.#compareSchedules(loaded);
  }

  async #compareSchedules({ schedules: { guarded, resting, left } }: LoadedPartition): Promise<void> {
    const { store } = this.#open;
    const rows = await store.listSchedules({ nodeGroup: this.#group, state: undefined, after: undefined, limit: 1_000 });
    same(this.#named(rows), plain(this.#model.schedules.rows()));
    const ofGroup = <T extends { nodeGroup: string }>(all: T[]): T[] => all.filter(({ nodeGroup }) => nodeGroup === this.#group);
    const due = await store.readSchedules(0, undefined, Number.MAX_SAFE_INTEGER, 1_000);
    same(ofGroup(due).map(({ id }) => id), this.#model.schedules.due());
    same(ofGroup(resting).map(({ id }) => id).toSorted(), this.#model.schedules.resting().toSorted());
    same(ofGroup(left).map(({ taskId, by }) => ({ taskId, by })), this.#model.ends.left());
    same(this.#named(ofGroup(guarded).toSorted((a, b) => a.seq - b.seq)), plain(this.#model.guarded()));
  }

  /** The outcome with ids instead of arrival numbers, which only the store gives. */
  #named(outcome: unknown): unknown {
    return plain(outcome, (key, value) => {
      if (key === 'seq' || key === 'existingSeq') return this.#ids.get(value as number);
      if (key === 'sched') return this.#scheds.get(value as number) ?? value;
      return key === 'job' || key === 'policy' ? undefined : value;
    });
  }

  #transition(each: Step): Transition | undefined {
    if (each.do === 'admit') return this.#admit(each);
    if (each.do === 'promote') return promote(this.#now, { limit: each.limit });
    if (each.do === 'limit') return limit(each.limits, { nodeGroup: this.#group });
    if (each.do === 'enroll' || each.do === 'fire' || each.do === 'alter' || each.do === 'endRuns') return this.#schedule(each);
    // Every other time one that lives: most are over soon.
    const known = [...this.#seqs].filter(([id]) => each.pick % 2 === 0 || this.#model.lives(id));
    const chosen = known[Math.floor(each.pick / 2) % Math.max(known.length, 1)];
    if (chosen === undefined) return undefined;
    const [id, seq] = chosen;
    const at = this.#now;
    const attempt = this.#model.attemptsOf(id);
    const wrong = 'wrong' in each && each.wrong ? 1 : 0;
    switch (each.do) {
      case 'again':
        return this.#again(each);
      case 'start':
        return start(seq, { attempt: attempt + 1 + wrong, at });
      case 'reassign':
        return { kind: 'reassign', partition: 0, seq, attempt: attempt + wrong, worker: otherWorker, at };
      case 'late':
        return { kind: 'late', partition: 0, id, attempt: attempt + wrong, outcome: 'SUCCESS', message: 'late' };
      case 'finish': {
        const next = each.next === 'retry' ? { dueAt: at + each.dueIn, retryTimes: 1, lostTimes: 2 } : { state: each.next };
        const end = { outcome: each.next === 'LOST' ? 'LOST' : 'LATER', message: '', truncated: false, startedAt: 0 } as const;
        return finish(seq, { attempt: attempt + wrong, end, next, at });
      }
      case 'release':
        return release(seq, { nodeGroup: this.#group, at });
      case 'cancel':
        return cancel(each.byTask ? { taskId: this.#model.taskOf(id) } : { id }, {
          nodeGroup: this.#group, at, as: each.as === undefined || each.byTask ? undefined : { state: each.as, message: 'as told' },
          bound: each.byTask ? each.bound : undefined,
        });
    }
  }

  #schedule(each: ScheduleStep): Transition {
    const numbers = new Map([...this.#scheds].map(([sched, id]) => [id, sched]));
    return scheduleTransition(each, {
      nodeGroup: this.#group,
      now: this.#now,
      live: (taskId) => this.#model.schedules.of(taskId),
      schedOf: (live) => numbers.get(live?.sched ?? '') ?? 999_999_999,
      takenId: [...this.#seqs.keys()].at(-1),
      time: () => ++this.#time,
    });
  }

  #admit(each: Extract<Step, { do: 'admit' }>): Transition {
    return admit({
      // Late from a FailStore: made before all others.
      ...(each.late ? { id: `00000000-0000-7${newId().slice(15)}`, fromFailStore: true } : {}),
      nodeGroup: this.#group,
      taskId: `task-${each.task}`,
      priority: each.priority,
      dueAt: this.#now + each.dueIn,
      createdAt: this.#now,
      replaceOnExist: each.replace,
      needFeedback: each.owes,
      submitNodeGroup: each.owes ? `${this.#group}-clients` : '',
      clientId: each.clientId,
      start: each.start ? { worker, fence: 1 } : undefined,
    });
  }

  #again({ pick: chosen, changed }: { pick: number; changed: boolean }): Transition | undefined {
    const sent = this.#model.sent();
    const before = sent[chosen % Math.max(sent.length, 1)]?.transition;
    if (before === undefined) return undefined;
    return changed ? { ...before, job: encodeJob({ task_id: newId() }) } : before;
  }
}
