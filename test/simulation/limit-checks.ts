import type { CommitBatch, GroupLimits, Outcome } from '../../services/job-tracker/queue/queue-store.js';
import type { Tables } from './store/rows.js';

/** What a group was given, and what has happened since. */
interface Given {
  limits: GroupLimits;
  at: number;
  epoch: number;
  /** Commits of the same ownership since. */
  commits: number;
  /** Since when the rate holds. */
  rateAt: number;
  /** Starts that were decided under the rate. */
  starts: number;
}

/**
 * Starts that were decided before a limit was known are in the commit that stores it, in the next one, which is sent before
 * the outcomes of the first are told, and in the one after that: what the outcomes ahead of the limit's own have caused.
 * Who set the limit has no answer before all of these are decided.
 */
const lateCommits = 3;
/** Clocks differ by so much. */
const rateSlack = 1.01;

/** Holds each commit against the limits that its groups have. */
export class LimitChecks {
  readonly #violate: (message: string) => void;
  readonly #given = new Map<string, Given>();

  constructor(violate: (message: string) => void) {
    this.#violate = violate;
  }

  /** Whether limits of the group hold, or have just been taken away. */
  holds(nodeGroup: string, since: number): boolean {
    const given = this.#given.get(nodeGroup);
    return given !== undefined && (given.at >= since || Object.values(given.limits).some((value) => value !== undefined));
  }

  committed({ epochs, transitions }: CommitBatch, outcomes: readonly Outcome[], tables: Tables, now: number): void {
    const started = new Map<string, number>();
    for (const [i, outcome] of outcomes.entries()) {
      const t = transitions[i];
      if (t?.kind === 'start' && outcome.kind === 'start' && outcome.started) add(started, tables.rows.get(t.seq)?.nodeGroup ?? '');
      if (t?.kind === 'admit' && outcome.kind === 'admit' && 'placement' in outcome && outcome.placement === 'started') add(started, t.nodeGroup);
      if (t?.kind === 'fire' && outcome.kind === 'fire' && outcome.applied) for (const { placement } of outcome.runs) if (placement === 'started') add(started, t.nodeGroup);
    }
    for (const [nodeGroup, given] of this.#given) {
      const held = epochs.find(({ partition }) => partition === tables.groups.get(nodeGroup)?.partition);
      if (held === undefined) continue;
      const known = held.epoch !== given.epoch || ++given.commits >= lateCommits;
      const count = started.get(nodeGroup) ?? 0;
      if (known && count > 0) this.#check(nodeGroup, given, count, tables, now);
    }
    for (const t of transitions) {
      if (t.kind !== 'limit') continue;
      const before = this.#given.get(t.nodeGroup);
      const epoch = epochs.find(({ partition }) => partition === t.partition)?.epoch ?? 0;
      const sameRate = before?.limits.startsPerSecond === t.limits.startsPerSecond;
      this.#given.set(t.nodeGroup, { limits: t.limits, at: now, epoch, commits: 0, rateAt: sameRate ? (before?.rateAt ?? now) : now, starts: sameRate ? (before?.starts ?? 0) : 0 });
    }
  }

  #check(nodeGroup: string, given: Given, count: number, tables: Tables, now: number): void {
    const { maxRunning, startsPerSecond } = given.limits;
    const running = tables.in('EXECUTING', 'CANCELLING').filter((row) => row.nodeGroup === nodeGroup).length;
    if (maxRunning !== undefined && running > maxRunning) this.#violate(`${running} attempts of ${nodeGroup} run, its limit is ${maxRunning}`);
    given.starts += count;
    const most = 1 + (((startsPerSecond ?? Number.POSITIVE_INFINITY) * (now - given.rateAt)) / 1_000) * rateSlack;
    if (given.starts > most) this.#violate(`${given.starts} runs of ${nodeGroup} were started in ${Math.round(now - given.rateAt)} ms, its limit is ${startsPerSecond} per second`);
  }
}

function add(counts: Map<string, number>, nodeGroup: string): void {
  counts.set(nodeGroup, (counts.get(nodeGroup) ?? 0) + 1);
}
