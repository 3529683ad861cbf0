import type { Alter, EndRuns, Enroll, Fire, FireRun, PassedTime, Release, Transition } from '../../queue-store.js';
import { finalStateOf, stateCodes } from '../codes.js';
import { policyOf, policyText } from '../policy-text.js';
import type { BatchPacker, BatchReader } from './batch-codec.js';

/** The transitions of schedules, as they go to the writer's thread. */
type OfSchedule = Enroll | Fire | Alter | EndRuns | Release;

const enders = ['suspend', 'delete', 'cancel'] as const satisfies EndRuns['by'][];
const changes = ['suspend', 'resume', 'next', 'delete'] as const satisfies Alter['change'][];

export function packSchedule(packer: BatchPacker, t: OfSchedule): void {
  switch (t.kind) {
    case 'enroll':
      packer.texts(t.id, t.taskId, t.plan);
      packer.numbers.push(
        packer.name(t.nodeGroup), packer.name(t.type), packer.name(t.submitNodeGroup), packer.name(policyText(t.policy)), t.priority, t.createdAt,
        (t.clientId ? 1 : 0) | (t.needFeedback ? 2 : 0) | (t.replaceOnExist ? 4 : 0) | (t.fromFailStore ? 8 : 0),
      );
      packer.optional(t.nextAt);
      packer.job(t.job);
      break;
    case 'fire':
      packer.numbers.push(packer.name(t.nodeGroup), t.sched, t.version, t.over ? 1 : 0, t.at);
      packer.optional(t.from);
      packer.optional(t.nextAt);
      packer.numbers.push(t.runs.length, t.passed.length);
      for (const run of t.runs) packRun(packer, run);
      for (const { id, taskKey, scheduledAt, state, message } of t.passed) {
        packer.texts(id, taskKey, message);
        packer.numbers.push(scheduledAt, stateCodes[state]);
      }
      break;
    case 'alter':
      packer.texts(t.taskId);
      packer.numbers.push(packer.name(t.nodeGroup), changes.indexOf(t.change), t.at);
      packer.optional(t.nextAt);
      packer.optional(t.version);
      packer.bound(t);
      break;
    case 'endRuns':
      packer.texts(t.taskId);
      packer.numbers.push(packer.name(t.nodeGroup), enders.indexOf(t.by), t.most, t.at);
      break;
    case 'release':
      packer.numbers.push(packer.name(t.nodeGroup), t.seq, t.at);
      break;
  }
}

function packRun(packer: BatchPacker, { id, taskKey, scheduledAt, held, counts, start, job }: FireRun): void {
  packer.texts(id, taskKey);
  packer.numbers.push(scheduledAt, (held ? 1 : 0) | (counts ? 2 : 0));
  packer.start(start);
  packer.job(job);
}

export function unpackSchedule(reader: BatchReader, kind: OfSchedule['kind'], partition: number): Transition {
  switch (kind) {
    case 'enroll':
      return unpackEnroll(reader, partition);
    case 'fire':
      return unpackFire(reader, partition);
    case 'alter':
      return {
        kind, partition, taskId: reader.text(), nodeGroup: reader.name(), change: changes[reader.number()] as Alter['change'], at: reader.number(),
        nextAt: reader.optional(), version: reader.optional(), ...reader.bound(),
      };
    case 'endRuns':
      return { kind, partition, taskId: reader.text(), nodeGroup: reader.name(), by: enders[reader.number()] as EndRuns['by'], most: reader.number(), at: reader.number() };
    case 'release':
      return { kind, partition, nodeGroup: reader.name(), seq: reader.number(), at: reader.number() };
  }
}

function unpackEnroll(reader: BatchReader, partition: number): Enroll {
  const [id, taskId, plan] = [reader.text(), reader.text(), reader.text()];
  const [nodeGroup, type, submitNodeGroup, policy] = [reader.name(), reader.name(), reader.name(), reader.name()];
  const [priority, createdAt, flags] = [reader.number(), reader.number(), reader.number()];
  return {
    kind: 'enroll', id, partition, nodeGroup, taskId, type, priority, createdAt, submitNodeGroup, plan,
    clientId: (flags & 1) !== 0,
    needFeedback: (flags & 2) !== 0,
    replaceOnExist: (flags & 4) !== 0,
    fromFailStore: (flags & 8) !== 0,
    policy: policyOf(policy),
    nextAt: reader.optional(),
    job: reader.job() ?? Buffer.alloc(0),
  };
}

function unpackFire(reader: BatchReader, partition: number): Fire {
  const [nodeGroup, sched, version, over, at] = [reader.name(), reader.number(), reader.number(), reader.number(), reader.number()];
  const [from, nextAt, runs, passed] = [reader.optional(), reader.optional(), reader.number(), reader.number()];
  return {
    kind: 'fire', partition, nodeGroup, sched, version, over: over === 1, at, from, nextAt,
    runs: Array.from({ length: runs }, () => unpackRun(reader)),
    passed: Array.from({ length: passed }, () => unpackPassed(reader)),
  };
}

function unpackRun(reader: BatchReader): FireRun {
  const [id, taskKey, scheduledAt, flags] = [reader.text(), reader.text(), reader.number(), reader.number()];
  return { id, taskKey, scheduledAt, held: (flags & 1) !== 0, counts: (flags & 2) !== 0, start: reader.start(), job: reader.job() };
}

function unpackPassed(reader: BatchReader): PassedTime {
  const [id, taskKey, message, scheduledAt, state] = [reader.text(), reader.text(), reader.text(), reader.number(), reader.number()];
  return { id, taskKey, scheduledAt, message, state: finalStateOf(state) as PassedTime['state'] };
}
