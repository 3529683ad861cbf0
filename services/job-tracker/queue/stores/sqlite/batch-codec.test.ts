import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CommitBatch, Outcome, Transition } from '../../queue-store.js';
import { packBatch, unpackBatch } from './batch-codec.js';
import { packOutcomes, unpackOutcomes } from './outcome-codec.js';

const text = fc.oneof(fc.constantFrom('', 'group', 'task'), fc.string({ unit: 'binary' }));
const time = fc.integer({ min: 0, max: 2 ** 45 });
const count = fc.integer({ min: 0, max: 1_000 });
const worker = fc.record({ nodeId: text, incarnation: text });
const bytes = fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array));
const outcome = fc.constantFrom('SUCCESS', 'FAILED', 'LATER', 'EXCEPTION', 'CANCELLED', 'LOST', 'INTERRUPTED');
const retryLaw = fc.oneof(
  fc.record({ law: fc.constant('FIXED' as const), delay: time }),
  fc.record({ law: fc.constant('EXPONENTIAL' as const), delay: time, maxDelay: time }),
  fc.record({ law: fc.constant('LIST' as const), delays: fc.array(time, { minLength: 1 }) }),
);
const policy = fc.record(
  { maxRetryTimes: count, timeoutMs: time, maxLost: fc.constantFrom(1, 3), failOnLoss: fc.boolean(), retry: retryLaw },
  { requiredKeys: ['maxRetryTimes', 'timeoutMs', 'maxLost', 'failOnLoss'] },
);
const partition = fc.nat({ max: 255 });
const ofKind = <K extends Transition['kind']>(kind: K) => ({ kind: fc.constant(kind), partition });

const bound = fc.option(fc.record({ most: count, halted: fc.boolean() }), { nil: undefined });
const optionalTime = fc.option(time, { nil: undefined });
const start = fc.option(fc.record({ worker, fence: time }), { nil: undefined });

const transition = fc.oneof(
  fc.record({
    ...ofKind('admit'), id: text, clientId: fc.boolean(), nodeGroup: text, taskId: text, type: text, priority: fc.integer(), dueAt: time, createdAt: time,
    needFeedback: fc.boolean(), submitNodeGroup: text, replaceOnExist: fc.boolean(), fromFailStore: fc.boolean(), policy, job: bytes, start,
  }),
  fc.record({ ...ofKind('start'), seq: time, attempt: count, fence: time, worker, at: time, wantJob: fc.boolean() }),
  fc.record({
    ...ofKind('finish'), seq: time, attempt: count, at: time, end: fc.record({ outcome, message: text, truncated: fc.boolean(), startedAt: time }),
    next: fc.oneof(
      fc.record({ state: fc.constantFrom('SUCCEEDED', 'FAILED', 'CANCELLED', 'LOST') }),
      fc.record({ dueAt: time, retryTimes: count, lostTimes: count }),
    ),
  }),
  fc.record({ ...ofKind('reassign'), seq: time, attempt: count, worker, at: time }),
  fc.record({ ...ofKind('cancel'), nodeGroup: text, id: text, at: time }),
  fc.record({ ...ofKind('cancel'), nodeGroup: text, taskId: text, at: time, bound }),
  fc.record({ ...ofKind('cancel'), nodeGroup: text, id: text, at: time, as: fc.record({ state: fc.constantFrom('FAILED', 'DISCARDED'), message: text }) }),
  fc.record({ ...ofKind('promote'), now: time, limit: count }),
  fc.record({ ...ofKind('late'), id: text, attempt: count, outcome, message: text }),
  fc.record({ ...ofKind('limit'), nodeGroup: text, limits: fc.record({ backlog: count, maxRunning: count, startsPerSecond: fc.double({ min: 0, max: 1e6, noNaN: true }) }, { requiredKeys: [] }) }),
  fc.record({
    ...ofKind('enroll'), id: text, clientId: fc.boolean(), nodeGroup: text, taskId: text, type: text, priority: fc.integer(), createdAt: time, needFeedback: fc.boolean(),
    submitNodeGroup: text, replaceOnExist: fc.boolean(), fromFailStore: fc.boolean(), policy, plan: text, nextAt: optionalTime, job: bytes,
  }),
  fc.record({
    ...ofKind('fire'), nodeGroup: text, sched: time, version: count, from: optionalTime, nextAt: optionalTime, over: fc.boolean(), at: time,
    runs: fc.array(fc.record({ id: text, taskKey: text, scheduledAt: time, held: fc.boolean(), counts: fc.boolean(), start, job: fc.option(bytes, { nil: undefined }) }), { maxLength: 4 }),
    passed: fc.array(fc.record({ id: text, taskKey: text, scheduledAt: time, state: fc.constantFrom('MISSED', 'DISCARDED'), message: text }), { maxLength: 4 }),
  }),
  fc.record({ ...ofKind('alter'), change: fc.constantFrom('suspend', 'resume', 'next', 'delete'), nodeGroup: text, taskId: text, nextAt: optionalTime, version: optionalTime, at: time, bound }),
  fc.record({ ...ofKind('endRuns'), by: fc.constantFrom('suspend', 'delete', 'cancel'), nodeGroup: text, taskId: text, most: count, at: time }),
  fc.record({ ...ofKind('release'), nodeGroup: text, seq: time, at: time }),
);

const readyRow = fc.record({
  nodeGroup: text, seq: time, id: text, type: text, priority: fc.integer(), dueAt: time, attempts: count, retryTimes: count, lostTimes: count, policy,
  job: fc.option(bytes, { nil: undefined }),
});

const anyOutcome: fc.Arbitrary<Outcome> = fc.oneof(
  fc.record({ kind: fc.constant('admit' as const), result: fc.constant('accepted' as const), seq: time, placement: fc.constantFrom('started', 'ready', 'waiting', 'blocked') }),
  fc.record({ kind: fc.constant('admit' as const), result: fc.constant('duplicate' as const), existingId: text }),
  fc.record({ kind: fc.constant('start' as const), started: fc.boolean(), job: fc.option(bytes, { nil: undefined }) }),
  fc.record({ kind: fc.constant('finish' as const), applied: fc.boolean(), owedTo: fc.option(text, { nil: undefined }) }),
  fc.record({ kind: fc.constant('finish' as const), applied: fc.constant(true), ready: readyRow, owedTo: text }),
  fc.record({ kind: fc.constant('finish' as const), applied: fc.constant(true), waitingUntil: time }),
  fc.record({ kind: fc.constant('finish' as const), applied: fc.constant(false), over: fc.constant(true as const) }),
  fc.record({ kind: fc.constant('fire' as const), applied: fc.boolean(), again: fc.boolean(), runs: fc.array(fc.record({ seq: time, placement: fc.constantFrom('started', 'ready', 'waiting') }), { maxLength: 3 }) }).filter(({ applied, again }) => !(applied && again)),
  fc.record({ kind: fc.constant('release' as const), ready: fc.option(readyRow, { nil: undefined }) }),
  fc.record({ kind: fc.constant('enroll' as const), result: fc.constant('accepted' as const), sched: time, version: count }),
  fc.record({ kind: fc.constant('reassign' as const), applied: fc.boolean(), job: fc.option(bytes, { nil: undefined }) }),
  fc.record({ kind: fc.constant('promote' as const), ready: fc.array(readyRow), nextDueAt: fc.option(time, { nil: undefined }) }),
  fc.record({ kind: fc.constant('late' as const), known: fc.boolean() }),
  fc.record({ kind: fc.constant('limit' as const) }),
) as fc.Arbitrary<Outcome>;

describe('a packed batch', () => {
  it('unpacks to what it was', () => {
    const epochs = fc.array(fc.record({ partition, epoch: time }));
    fc.assert(
      fc.property(epochs, fc.array(transition as fc.Arbitrary<Transition>, { maxLength: 30 }), (held, transitions) => {
        const batch: CommitBatch = { epochs: held, transitions };
        expect(unpackBatch(structuredClone(packBatch(batch)))).toEqual(batch);
      }),
    );
  });

  it('copies only the bytes of its jobs', () => {
    const network = Buffer.alloc(1_000_000);
    const job = network.subarray(10, 20);
    const common = { kind: 'admit', id: 'i', clientId: true, partition: 0, nodeGroup: 'g', taskId: 't', type: '', priority: 1, dueAt: 1, createdAt: 1 } as const;
    const rest = { needFeedback: false, submitNodeGroup: '', replaceOnExist: false, policy: { maxRetryTimes: 0, timeoutMs: 0, maxLost: 3, failOnLoss: false } };
    const packed = packBatch({ epochs: [], transitions: [{ ...common, ...rest, job }] });
    expect(packed.jobs.buffer.byteLength).toBe(10);
    expect(network.buffer.byteLength).toBeGreaterThanOrEqual(1_000_000);
  });
});

describe('packed outcomes', () => {
  it('unpack to what they were', () => {
    fc.assert(
      fc.property(fc.array(anyOutcome, { maxLength: 30 }), (outcomes) => {
        const expected = structuredClone(outcomes);
        expect(plain(unpackOutcomes(structuredClone(packOutcomes(outcomes))))).toEqual(plain(expected));
      }),
    );
  });
});

/** Buffers as arrays, nothing that is undefined. */
function plain(outcomes: Outcome[]): unknown {
  return JSON.parse(JSON.stringify(structuredClone(outcomes), (_key, value: unknown) => (value instanceof Uint8Array ? [...value] : value)));
}
