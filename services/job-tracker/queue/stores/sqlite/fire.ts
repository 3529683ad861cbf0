import { type Fire, type FireOutcome, type FireRun, heldUntil, type PassedTime } from '../../queue-store.js';
import { stateCodes } from '../codes.js';
import type { Facts } from './facts-cache.js';
import { endSchedule } from './live-schedules.js';
import type { LiveSchedule } from './schedule-sql.js';
import type { WriterState } from './writer-state.js';

type Made = FireOutcome['runs'][number];

/** What the runs of a fire have in common. */
interface Given {
  live: LiveSchedule;
  priority: number;
  clientId: number;
}

/** Makes the runs of a schedule and moves it on: a compare-and-set on its number, version and next time. */
export function fire(w: WriterState, t: Fire): FireOutcome {
  const live = w.schedules.bySched.get(t.sched);
  if (live === undefined || !applies(t, live)) return { kind: 'fire', applied: false, again: false, runs: [] };
  if (t.from === undefined && t.runs.some(({ id }) => w.sql.seqById.get(id) !== undefined)) return { kind: 'fire', applied: false, again: true, runs: [] };
  const found = w.schedules.given.get(live.seq);
  if (found === undefined) throw new Error(`schedule ${t.sched} is live but what was submitted is not stored`);
  const given = { live, ...found };
  const runs = t.runs.map((run) => makeRun(w, t, run, given));
  for (const time of t.passed) pass(w, t, time, live);
  if (t.from !== undefined) move(w, t, live);
  return { kind: 'fire', applied: true, again: false, runs };
}

function applies({ partition, version, from }: Fire, live: LiveSchedule): boolean {
  if (live.part !== partition || live.version !== version) return false;
  // A suspended one has no next time.
  return from === undefined || live.nextAt === from;
}

function makeRun(w: WriterState, t: Fire, run: FireRun, { live, priority, clientId }: Given): Made {
  const { groupId, part: partition } = live;
  const seq = ++w.lastSeq;
  w.schedules.addRun.run(seq, run.id, run.taskKey, run.scheduledAt, t.at, run.job ?? null, live.seq);
  const facts: Facts = { partition, groupId, taskId: run.taskKey, priority, dueAt: run.held ? heldUntil : run.scheduledAt, clientId };
  w.facts.set(seq, facts);
  w.schedules.addLive.run(groupId, run.taskKey, seq, facts.dueAt);
  return { seq, placement: place(w, t, run, seq, facts) };
}

function place(w: WriterState, t: Fire, { held, start }: FireRun, seq: number, facts: Facts): Made['placement'] {
  if (held) {
    w.sql.addWaiting.run(facts.partition, heldUntil, seq, facts.groupId, 0, 0, 0);
    return 'waiting';
  }
  if (start === undefined) {
    w.sql.addReady.run(facts.groupId, facts.priority, facts.dueAt, seq, 0, 0, 0);
    return 'ready';
  }
  w.sql.addExecuting.run(seq, start.fence, w.names.worker(start.worker, t.at), t.at);
  return 'started';
}

function pass(w: WriterState, t: Fire, { id, taskKey, scheduledAt, state, message }: PassedTime, live: LiveSchedule): void {
  const seq = ++w.lastSeq;
  w.schedules.addPassed.run(seq, id, taskKey, scheduledAt, t.at, live.seq);
  w.sql.endWaiting.run(seq, stateCodes[state], t.at, 0, 0, 0, message, null);
}

function move(w: WriterState, t: Fire, live: LiveSchedule): void {
  const counted = t.runs.filter(({ counts }) => counts);
  const lastAt = counted.at(-1)?.scheduledAt ?? null;
  if (t.over) endSchedule(w, live, t.at);
  else w.schedules.move.run(t.nextAt ?? null, counted.length, lastAt, lastAt, live.sched);
}
