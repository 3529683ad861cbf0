import { type Acked, type Event, epochOf, type Stored } from './history.js';

/** A promise that was broken, by its number in the README's table. */
export interface Violation {
  promise: number;
  message: string;
}

const finalStates = new Set(['SUCCEEDED', 'FAILED', 'CANCELLED', 'REPLACED', 'LOST', 'MISSED', 'DISCARDED']);

type Of<K extends Event['kind']> = Extract<Event, { kind: K }>;

/** The events, sorted by kind. */
class Facts {
  readonly acked: Acked[];
  readonly stored: Map<string, Stored>;
  readonly runs: (Of<'start'> | Of<'end'>)[];
  readonly workers: Of<'worker'>[];
  readonly results: Of<'result'>[];
  readonly elections: Of<'election'>[];
  readonly recoveries: Of<'recovered'>[];
  readonly cancels: Of<'cancelled'>[];
  readonly owners: Of<'owners'>[];
  readonly resent: Set<string>;
  readonly resources: Of<'resources'>[];

  constructor(events: readonly Event[]) {
    const of = <K extends Event['kind']>(kind: K): Of<K>[] => events.filter((event): event is Of<K> => event.kind === kind);
    this.acked = of('acked');
    this.stored = new Map(of('stored').map((event) => [event.id, event]));
    this.runs = events.filter((event): event is Of<'start'> | Of<'end'> => event.kind === 'start' || event.kind === 'end');
    this.workers = of('worker');
    this.results = of('result');
    this.elections = of('election');
    this.recoveries = of('recovered');
    this.cancels = of('cancelled');
    this.owners = of('owners');
    this.resent = new Set(of('resent').map(attemptOf));
    this.resources = of('resources');
  }
}

type Check = (facts: Facts) => string[];

/** 1: no acked job is lost; after the quiet time each has ended. */
const noneLost: Check = ({ acked, stored }) =>
  acked.flatMap(({ id }) => {
    const found = stored.get(id);
    if (found === undefined) return [`${id} was acked and is not in the store`];
    return finalStates.has(found.state) ? [] : [`${id} was acked and is still ${found.state} after the quiet time`];
  });

/**
 * 3: tokens grow with the attempts of an instance; every run is an attempt that the store has under that token; a worker
 * starts no run of an older epoch than it has seen, unless a later owner sent it again: it then keeps its token.
 */
const epochsGrow: Check = ({ stored, runs, resent }) => {
  const broken: string[] = [];
  for (const { id, attempts } of stored.values()) {
    for (const [i, { attempt, fence }] of attempts.entries()) {
      const before = attempts[i - 1];
      if (before !== undefined && fence <= before.fence) broken.push(`${id}: attempt ${attempt} has token ${fence}, attempt ${before.attempt} had ${before.fence}`);
    }
  }
  const highest = new Map<string, number>();
  for (const run of runs) {
    if (run.kind !== 'start') continue;
    const seen = highest.get(workerOf(run)) ?? 0;
    const epoch = epochOf(run.fence);
    const known = stored.get(run.id)?.attempts ?? [];
    const isStored = known.length === 0 || known.some(({ attempt, fence }) => attempt === run.attempt && fence === run.fence);
    if (!isStored) broken.push(`worker ${workerOf(run)} started ${run.id} attempt ${run.attempt} under token ${run.fence}, which the store does not know`);
    if (epoch < seen && !resent.has(attemptOf(run))) broken.push(`worker ${workerOf(run)} started ${run.id} of epoch ${epoch} after one of epoch ${seen}`);
    highest.set(workerOf(run), Math.max(seen, epoch));
  }
  return broken;
};

/** 4: in the order of the store, once an owner has committed in a partition, no earlier one does. */
const ownersTakeTurns: Check = ({ owners }) =>
  owners.flatMap(({ partition, epochs }) =>
    epochs.flatMap((epoch, i) => (i > 0 && epoch <= (epochs[i - 1] ?? 0) ? [`partition ${partition}: epoch ${epoch} committed after epoch ${epochs[i - 1]}`] : [])),
  );

/** 5: what succeeded has a completed run; what was neither cancelled nor lost has begun. */
const atLeastOnce: Check = ({ acked, stored, runs }) => {
  const ended = new Set(runs.flatMap((run) => (run.kind === 'end' ? [run.id] : [])));
  return acked.flatMap(({ id }) => (stored.get(id)?.state === 'SUCCEEDED' && !ended.has(id) ? [`${id} is SUCCEEDED and no task completed it`] : []));
};

/** 6: a job that may run at most once has at most one start. */
const atMostOnce: Check = ({ acked, runs }) => {
  const starts = countStarts(runs, (run) => run.id);
  return acked.flatMap(({ id, atMostOnce: once }) => (once && (starts.get(id) ?? 0) > 1 ? [`${id} may run at most once and began ${starts.get(id)} times`] : []));
};

/** 7: one terminal result per instance, and every delivery says the same; one attempt runs once. */
const oneResult: Check = ({ stored, results, runs }) => {
  const broken: string[] = [];
  for (const { id, state } of results) {
    const known = stored.get(id)?.state;
    if (known !== state) broken.push(`${id} was delivered as ${state}, the store says ${known ?? 'nothing'}`);
  }
  for (const [attempt, count] of countStarts(runs, attemptOf)) if (count > 1) broken.push(`${attempt} began ${count} times`);
  for (const { id, attempts, state } of stored.values()) {
    const successes = attempts.filter(({ outcome }) => outcome === 'SUCCESS').length;
    if (successes > 1 || (successes === 1 && state !== 'SUCCEEDED')) broken.push(`${id} is ${state} with ${successes} successful attempts`);
  }
  return broken;
};

/** 10: after the ack of a cancel there is no new attempt; it ends as CANCELLED unless its result came first. */
const cancelsHold: Check = ({ cancels, stored }) =>
  cancels.flatMap(({ id, done, attempts }) => {
    const { state = '', attempts: made = [] } = stored.get(id) ?? {};
    const last = Math.max(0, ...made.map(({ attempt }) => attempt));
    if (last > attempts) return [`${id} got attempt ${last} after its cancel was acked at attempt ${attempts}`];
    if (done && state !== 'CANCELLED') return [`${id} was said to be CANCELLED and is ${state}`];
    return finalStates.has(state) && state !== 'LOST' ? [] : [`${id} was to be cancelled and is ${state}`];
  });

/** 13: no worker runs more than its slots at any time. */
const slotsKept: Check = ({ workers, runs }) => {
  const limits = new Map(workers.map((worker) => [workerOf(worker), worker.workThreads]));
  const now = new Map<string, number>();
  const broken: string[] = [];
  for (const run of runs) {
    const worker = workerOf(run);
    const running = (now.get(worker) ?? 0) + (run.kind === 'start' ? 1 : -1);
    now.set(worker, running);
    const limit = limits.get(worker);
    if (limit !== undefined && running > limit) broken.push(`worker ${worker} ran ${running} tasks with ${limit} slots`);
  }
  return broken;
};

/** 14: every owed result was delivered. */
const resultsDelivered: Check = ({ acked, stored, results }) => {
  const delivered = new Set(results.map(({ id }) => id));
  return acked.flatMap(({ id, needFeedback }) => {
    const state = stored.get(id)?.state;
    return needFeedback && state !== undefined && state !== 'REPLACED' && !delivered.has(id) ? [`${id} ended ${state} and its result was never delivered`] : [];
  });
};

/** 16: memory and open files of every process are bounded. */
const resourcesBounded: Check = ({ resources }) =>
  resources.flatMap(({ process: name, rssMb, rssLimitMb, files, filesLimit }) => [
    ...(rssMb > rssLimitMb ? [`${name} has ${Math.round(rssMb)} MB in memory, ${Math.round(rssLimitMb)} are allowed`] : []),
    ...(files > filesLimit ? [`${name} has ${files} files open, ${filesLimit} are allowed`] : []),
  ]);

/** 17: as many election nodes as live trackers. */
const electionClean: Check = ({ elections }) =>
  elections.flatMap(({ nodes, trackers }) => (nodes === trackers ? [] : [`${nodes} election nodes for ${trackers} live trackers`]));

/** 18: dispatch resumes in time after the last fault. */
const recovers: Check = ({ recoveries }) =>
  recoveries.flatMap(({ afterMs, limitMs }) => (afterMs <= limitMs ? [] : [`work went on ${afterMs} ms after the last fault was healed, allowed are ${limitMs} ms`]));

function attemptOf({ id, attempt }: { id: string; attempt: number }): string {
  return `${id} attempt ${attempt}`;
}

/** Each group of a process is a worker. */
function workerOf({ pid, group }: { pid: number; group?: string }): string {
  return group === undefined ? `${pid}` : `${pid} of ${group}`;
}

function countStarts(runs: Facts['runs'], key: (run: Of<'start'>) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const run of runs) if (run.kind === 'start') counts.set(key(run), (counts.get(key(run)) ?? 0) + 1);
  return counts;
}

const checks: readonly [number, Check][] = [
  [1, noneLost],
  [3, epochsGrow],
  [4, ownersTakeTurns],
  [5, atLeastOnce],
  [6, atMostOnce],
  [7, oneResult],
  [10, cancelsHold],
  [13, slotsKept],
  [14, resultsDelivered],
  [16, resourcesBounded],
  [17, electionClean],
  [18, recovers],
];

/** Every broken promise in a history. */
export function checkHistory(events: readonly Event[]): Violation[] {
  const facts = new Facts(events);
  return checks.flatMap(([promise, check]) => check(facts).map((message) => ({ promise, message })));
}
