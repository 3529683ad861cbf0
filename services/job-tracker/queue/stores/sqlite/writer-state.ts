import type { Database } from 'better-sqlite3';
import type { NewlyReady } from '../../queue-store.js';
import { idFromBytes } from '../../../../../shared/ids.js';
import type { Facts, FactsCache } from './facts-cache.js';
import type { Names } from './names.js';
import { policyOf } from '../policy-text.js';
import type { ScheduleSql } from './schedule-sql.js';
import type { Counts, WriterSql } from './writer-sql.js';

/** What transitions work on: one connection with its statements and what is kept in memory beside it. */
export interface WriterState {
  db: Database;
  sql: WriterSql;
  names: Names;
  facts: FactsCache;
  schedules: ScheduleSql;
  /** Groups that may have live schedules; others have none. */
  scheduled: Set<number>;
  /** The last arrival number that was given; read anew in every transaction, as lastOwed. */
  lastSeq: number;
  /** The last number of an owed result. */
  lastOwed: number;
}

/** What never changes of an instance; undefined when it is not there or not of that partition. */
export function factsOf(w: WriterState, seq: number, partition: number): Facts | undefined {
  let facts = w.facts.get(seq);
  if (facts === undefined) {
    facts = w.sql.facts.get(seq);
    if (facts === undefined) return undefined;
    w.facts.set(seq, facts);
  }
  return facts.partition === partition ? facts : undefined;
}

/** What the stored rows say, whatever the cache holds. */
export function freshFactsOf(w: WriterState, seq: number, partition: number): Facts | undefined {
  w.facts.delete(seq);
  return factsOf(w, seq, partition);
}

/** Puts the current instance of a task into its queue: ready when it is due, waiting otherwise. */
export function enqueue(w: WriterState, seq: number, facts: Facts, now: number, counts: Counts): 'ready' | 'waiting' {
  const { groupId, priority, dueAt, partition } = facts;
  const { attempts, retryTimes, lostTimes } = counts;
  if (dueAt <= now) {
    w.sql.addReady.run(groupId, priority, dueAt, seq, attempts, retryTimes, lostTimes);
    return 'ready';
  }
  w.sql.addWaiting.run(partition, dueAt, seq, groupId, attempts, retryTimes, lostTimes);
  return 'waiting';
}

/** Nothing behind it. */
export const noCounts: Counts = Object.freeze({ attempts: 0, retryTimes: 0, lostTimes: 0 });

/** A ready instance as it enters the ready set of its owner. */
export function newlyReady(w: WriterState, seq: number, facts: Facts, counts: Counts): NewlyReady {
  const data = w.sql.runData.get(seq);
  if (data === undefined) throw new Error(`instance ${seq} is queued but not stored`);
  return {
    nodeGroup: w.names.groupName(facts.groupId),
    id: idFromBytes(data.id),
    seq,
    type: data.type,
    priority: facts.priority,
    dueAt: facts.dueAt,
    scheduledAt: data.scheduledAt,
    attempts: counts.attempts,
    retryTimes: counts.retryTimes,
    lostTimes: counts.lostTimes,
    policy: policyOf(data.policy),
    job: data.job ?? undefined,
  };
}

/** What the end of the current instance of a task sets free. */
export interface Freed {
  ready?: NewlyReady | undefined;
  waitingUntil?: number | undefined;
}

/** The current instance of a task has ended: the next one, if there is one, takes its place. */
export function advanceTask(w: WriterState, groupId: number, taskId: string, partition: number, now: number): Freed {
  if (w.sql.endTask.run(groupId, taskId).changes > 0) return {};
  const next = w.sql.task.get(groupId, taskId)?.nextSeq;
  if (next === undefined || next === null) return {};
  const facts = freshFactsOf(w, next, partition);
  if (facts === undefined) throw new Error(`instance ${next} is next of its task but not stored`);
  w.sql.setCurrent.run(next, facts.dueAt, null, groupId, taskId);
  if (enqueue(w, next, facts, now, noCounts) === 'waiting') return { waitingUntil: facts.dueAt };
  return { ready: newlyReady(w, next, facts, noCounts) };
}
