import { systemClock } from '../../../shared/time/clock.js';
import { watchRss } from '../frame/memory.js';
import type { Starts } from '../frame/start-record.js';
import type { Options } from '../options.js';
import type { EditOrder } from '../ours/timed-producer.js';
import { minutelyTimes, type TimedJobs } from '../ours/timed-jobs.js';
import { TimedStage } from '../ours/timed-stage.js';
import { type Report, roundMs, table } from '../report.js';
import { type Lateness, latenessOf } from './lateness.js';
import { decimals, whole } from './numbers.js';
import { timersOfPeers } from './timers-peers.js';

const mostFiresPerSecond = 1_000;
const mostBurst = 20_000;
const mostEdits = 1_000;
const firstEdited = 100_000_000;
/** After a start: what fell due meanwhile runs. */
const settleMs = 3_000;
/** Nothing further has begun for so long: what is missing then is lost. */
const stallMs = 10_000;
const lookMs = 1_000;

/** What was found. */
interface Found {
  loadPerSecond: number;
  startupMs: number;
  lateness: Lateness;
  /** From the second in which so many fell due to the last of their starts. */
  burstMs: number;
  editsPerSecond: number;
  rssMb: number;
}

/** Which schedules there are. */
interface Amounts {
  minutely: number;
  burst: number;
  editsPerSecond: number;
}

/**
 * Many schedules, most of them far away. Some fire every second, and for some minutes each of their times is compared
 * with what the worker saw, while others are added, changed and removed; then very many fall due in one second.
 */
export async function timers(options: Options): Promise<Report> {
  const amounts = amountsOf(options.schedules);
  const found = await measure(options, amounts);
  const { lateness, ...rest } = found;
  const peers = options.peers ? await timersOfPeers(options.minutes) : {};
  const { lost, duplicates, unexpected } = lateness;
  const firesPerSecond = amounts.minutely / 60;
  return {
    text: [
      `timers: ${options.store}, groups ${options.groups}; ${whole(options.schedules)} schedules, ${whole(firesPerSecond)} fires/s for ${options.minutes} minutes, ${whole(amounts.burst)} more in one second`,
      table(
        ['late p50 ms', 'p99 ms', 'max ms', 'burst s', 'edits/s', 'tracker MB', 'start-up s', 'loaded/s', 'lost', 'duplicates'],
        [[decimals(lateness.p50), decimals(lateness.p99), decimals(lateness.max), decimals(rest.burstMs / 1_000), whole(rest.editsPerSecond), whole(rest.rssMb), decimals(rest.startupMs / 1_000), whole(rest.loadPerSecond), whole(lost), whole(duplicates)]],
      ),
      ...Object.entries(peers).map(([name, peer]) => `${name}: ${whole(peer.schedules)} schedules once a minute, late p50 ${decimals(peer.lateness_ms.p50)} ms, p99 ${decimals(peer.lateness_ms.p99)} ms, max ${decimals(peer.lateness_ms.max)} ms, ${whole(peer.lost)} of ${whole(peer.fires)} fires missing, ${whole(peer.load_per_s)}/s loaded`),
    ].join('\n'),
    json: {
      scenario: 'timers', store: options.store, groups: options.groups, schedules: options.schedules, minutes: options.minutes, fires_per_s: firesPerSecond, fires: lateness.fires,
      lateness_ms: { p50: roundMs(lateness.p50), p99: roundMs(lateness.p99), max: roundMs(lateness.max) },
      burst: amounts.burst, burst_s: rest.burstMs / 1_000, edits_per_s: Math.round(rest.editsPerSecond), rss_mb: Math.round(rest.rssMb), startup_s: roundMs(rest.startupMs / 1_000),
      load_per_s: Math.round(rest.loadPerSecond), lost, duplicates, unexpected, peers,
    },
    fault: lost + duplicates + unexpected === 0 ? undefined : `${lost} fires lost, ${duplicates} repeated, ${unexpected} at times that nobody asked for`,
  };
}

function amountsOf(schedules: number): Amounts {
  const firesPerSecond = Math.min(mostFiresPerSecond, Math.ceil(schedules / 300));
  return { minutely: firesPerSecond * 60, burst: Math.min(mostBurst, Math.ceil(schedules / 10)), editsPerSecond: Math.min(mostEdits, schedules) };
}

async function measure(options: Options, { minutely: count, burst: burstCount, editsPerSecond }: Amounts): Promise<Found> {
  const stage = await TimedStage.start(options);
  try {
    await stage.openWorker();
    const far: TimedJobs = { kind: 'far', first: count, count: Math.max(options.schedules - count, 1), at: wholeSecond(0) };
    const loadPerSecond = await stage.submit(far);
    say(`${whole(far.count)} schedules loaded, ${whole(loadPerSecond)}/s`);
    // The repeats are all there before their first time.
    const minutely: TimedJobs = { kind: 'minutely', first: 0, count, at: wholeSecond(2_000 + (count / loadPerSecond) * 3_000) };
    await stage.submit(minutely);

    await stage.worker.call('close');
    const startupMs = await stage.restart();
    say(`started again in ${whole(startupMs)} ms`);
    await stage.openWorker();
    await systemClock.sleep(Math.max(settleMs, minutely.at - systemClock.now()));

    const rss = watchRss(stage.trackerPid);
    await stage.producer.call('startEdits', { perSecond: editsPerSecond, first: firstEdited } satisfies EditOrder);
    const from = wholeSecond(1_000);
    const to = from + Math.ceil(options.minutes * 60) * 1_000;
    await systemClock.sleep(to - systemClock.now());
    say('watched');
    const burst: TimedJobs = { kind: 'burst', first: options.schedules, count: burstCount, at: wholeSecond(3_000 + (burstCount / loadPerSecond) * 3_000) };
    await stage.submit(burst);
    await systemClock.sleep(burst.at - systemClock.now());
    const starts = await allStarted(stage, burst);
    const edits = await stage.producer.call<number>('endEdits');
    return { loadPerSecond, startupMs, ...judge(starts, minutely, burst, from, to), editsPerSecond: edits, rssMb: rss() };
  } finally {
    await stage.stop();
  }
}

/** Waits until all of the burst have begun, or none has for a while. */
async function allStarted(stage: TimedStage, burst: TimedJobs): Promise<Starts> {
  let [seen, seenAt] = [0, systemClock.monotonic()];
  for (;;) {
    const starts = await stage.worker.call<Starts>('starts');
    const started = new Set(starts.job.filter((number) => number >= burst.first)).size;
    if (started > seen) [seen, seenAt] = [started, systemClock.monotonic()];
    if (started >= burst.count || systemClock.monotonic() - seenAt > stallMs) return starts;
    await systemClock.sleep(lookMs);
  }
}

function judge(starts: Starts, minutely: TimedJobs, burst: TimedJobs, from: number, to: number): { lateness: Lateness; burstMs: number } {
  const lateness = latenessOf(starts, { ...minutely, from, to }, (job) => minutelyTimes(job, minutely, from, to));
  const { lost, duplicates, unexpected, max } = latenessOf(starts, { ...burst, from, to: Number.POSITIVE_INFINITY }, () => [burst.at]);
  return { lateness: { ...lateness, lost: lateness.lost + lost, duplicates: lateness.duplicates + duplicates, unexpected: lateness.unexpected + unexpected }, burstMs: max };
}

/** The next whole second that is at least so far away. */
function wholeSecond(awayMs: number): number {
  return Math.ceil((systemClock.now() + awayMs) / 1_000) * 1_000;
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
