import type { Violation } from '../checker/check-history.js';
import { Faults } from './faults.js';
import { compareMemory, leftovers } from './memory-checks.js';
import { Operators } from './operators.js';
import { Random } from './random.js';
import { settingsOf } from './settings.js';
import { sessionMs } from './sim-registry.js';
import { World } from './world.js';

/** What came of a seed. */
export interface Run {
  seed: number;
  violations: readonly Violation[];
  /** The same for the same seed and code. */
  hash: string;
  events: number;
  jobs: number;
  /** Of schedules. */
  runs: number;
  virtualMs: number;
}

const compareEveryMs = 2_000;
/** Long enough for a retry. */
const setClocksEveryMs = 60_000;
/** Promise 18. */
const slackMs = 2_000;
const resumeWithinMs = sessionMs + slackMs;
/** Beside the grace times: members connect again after a back-off of some seconds. */
const masterWithinMs = 15_000;
/** A drain is asked for again and again, and followed within it. */
const drainWithinMs = 15_000;
/** Everything must have ended by then, after the last fault. */
const endWithinMs = 1_800_000;

/** Plays one seed from its beginning to its end. `write` gets every step. */
export async function simulate(seed: number, write?: (line: string) => void): Promise<Run> {
  const { random } = Math;
  const { stackTraceLimit } = Error;
  // Errors are made by the thousand, and nobody reads where.
  if (write === undefined) Error.stackTraceLimit = 0;
  // Jitter of back-offs follows from the seed, too.
  Math.random = new Random(seed + 7).next;
  try {
    return await play(seed, write);
  } finally {
    Math.random = random;
    Error.stackTraceLimit = stackTraceLimit;
    // One turn for whatever else lives in this process.
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

async function play(seed: number, write?: (line: string) => void): Promise<Run> {
  const settings = settingsOf(seed);
  const world = new World(settings, write);
  const { scheduler, history } = world;
  history.onViolation = ({ promise, message }) => {
    world.trace(`VIOLATION of promise ${promise}: ${message}`);
    scheduler.end();
  };
  const faults = new Faults(world);
  const operators = new Operators(world);
  compareNow(world);
  await scheduler.runUntil(settings.faultsUntilMs);
  if (settings.heals && history.violations.length === 0) await recover(world, faults, operators);
  history.check(world.db.tables, settings.heals && history.violations.length === 0);
  return { seed, violations: history.violations, hash: scheduler.trace.value, events: scheduler.executed, jobs: history.acked.size, runs: world.scheduleHistory.madeBy.size, virtualMs: scheduler.now };
}

/** The faults are over: work goes on soon, and everything ends. */
async function recover(world: World, faults: Faults, operators: Operators): Promise<void> {
  const { scheduler, history } = world;
  const healedAt = scheduler.now;
  faults.setClocks();
  history.startedAt.clear();
  for (const client of world.clients) client.probe();
  await scheduler.runUntil(healedAt + resumeWithinMs);
  for (const group of world.groups) {
    if (history.startedAt.has(group) || !canStart(world, group)) continue;
    history.violate(18, `nothing of ${group} was started within ${resumeWithinMs} ms after the last fault`);
  }
  for (const late of world.scheduleHistory.overdue(world.db.tables, world.storeWall.now() - slackMs)) history.violate(8, `${resumeWithinMs} ms after the last fault ${late}`);
  let setAt = scheduler.now;
  // Few slots may need long for what has gathered: something has to end all the time.
  let endedAt = scheduler.now;
  let fewest = Number.POSITIVE_INFINITY;
  while (history.violations.length === 0 && scheduler.now < endedAt + endWithinMs) {
    const left = leftovers(world).length;
    if (scheduler.now <= world.settings.loadUntilMs || left < fewest) endedAt = scheduler.now;
    fewest = Math.min(fewest, left);
    if (scheduler.now > world.settings.loadUntilMs && left === 0) break;
    if (scheduler.now > world.settings.loadUntilMs) world.clients[0]?.schedules.endAll();
    await scheduler.runUntil(scheduler.now + 2_000);
    if (scheduler.now - setAt <= setClocksEveryMs) continue;
    setAt = scheduler.now;
    faults.setClocks();
  }
  for (const left of leftovers(world)) history.violate(1, `nothing has ended for ${endWithinMs} ms without faults, and ${left}`);
  // One grace time until the master is chosen, another one when its worker has left in between.
  await scheduler.runUntil(Math.max(scheduler.now, healedAt + masterWithinMs + 2 * world.settings.graceMs));
  for (const group of world.masterless) history.violate(18, `${Math.round(scheduler.now - healedAt)} ms after the last fault ${group} has no master`);
  if (history.violations.length === 0) await drainOne(world, operators);
}

/** A tracker that is drained while all is well has nothing soon, and its share again when it is brought back. */
async function drainOne(world: World, operators: Operators): Promise<void> {
  const { scheduler, history, trackers } = world;
  const [site] = trackers;
  if (site === undefined) return;
  const owned = (): number[] => trackers.map(({ running }) => running?.core.groups.partitions.size ?? 0);
  operators.drain(site.nodeId, true);
  await scheduler.runUntil(scheduler.now + drainWithinMs);
  if (owned()[0] !== 0) history.violate(0, `${drainWithinMs} ms after ${site.nodeId} was drained the trackers own ${owned().join()} partitions`);
  operators.drain(site.nodeId, false);
  await scheduler.runUntil(scheduler.now + drainWithinMs);
  const counts = owned();
  const even = world.db.partitions === 1 || Math.max(...counts) - Math.min(...counts) <= 1;
  if (!even || counts.reduce((sum, count) => sum + count, 0) !== world.db.partitions) history.violate(0, `${drainWithinMs} ms after ${site.nodeId} was undrained the trackers own ${counts.join()} partitions`);
}

/** A slot that a run has just left gets the time that everything gets after its last hindrance. */
function canStart(world: World, group: string): boolean {
  // Operators take its limits away when its owner is back.
  if (world.history.limits.holds(group, world.scheduler.now - slackMs)) return false;
  const ready = world.db.tables.in('READY').filter((row) => row.nodeGroup === group);
  return world.runningWorkers.some(({ place, runner, leaving }) => {
    const free = place.nodeGroup === group && !leaving && runner.running < place.workThreads && world.scheduler.now - runner.hadUntil(place.workThreads) >= slackMs;
    return free && ready.some(({ type }) => place.types.length === 0 || place.types.includes(type));
  });
}

/** Now and then the memory of each tracker is held against the store, when nothing is between them. */
function compareNow(world: World): void {
  for (const tracker of world.runningTrackers) {
    if (tracker.process.paused) continue;
    void tracker.core.flushed().then(() => {
      if (tracker.process.alive && tracker.lane.pending === 0) compareMemory(world, tracker);
    });
  }
  world.scheduler.after(compareEveryMs, 'compare', () => compareNow(world));
}
