import { Child } from '../frame/child.js';
import { storeParent } from '../frame/disk.js';
import { median } from '../frame/statistics.js';
import type { SubmitOrder } from '../frame/producer.js';
import type { Options } from '../options.js';
import type { BusyOrder, BusyRecord } from '../ours/busy-workers.js';
import { startTrackers } from '../ours/servers.js';
import type { LtsSettings } from '../ours/settings.js';
import { type Report, roundMs, table } from '../report.js';
import { decimals, ratio, whole } from './numbers.js';

/** Slots over all groups: the same with many groups and with one. */
const slots = 2_000;
const fullMs = 2_000;
const watchMs = 5_000;
const warmUpMs = 1_000;

interface Measured {
  groups: number;
  perSecond: number;
  slotWaitMs: { p50: number; p99: number };
}

/**
 * How long a slot that becomes free waits for its next job while thousands wait in every group: with many groups, one
 * busy worker each, and with one group that has as many slots and runs as many jobs a second in all. The rate is half
 * of what the many groups reach with runs that take no time.
 */
export async function groups(options: Options): Promise<Report> {
  const many: Measured[] = [];
  const alone: Measured[] = [];
  for (let round = 1; round <= options.rounds; round++) {
    const [first] = many;
    const crowd = await measure(options, options.groups, options.jobs * options.groups, first?.perSecond);
    many.push(crowd);
    alone.push(await measure(options, 1, Math.ceil(crowd.perSecond * ((fullMs + warmUpMs + watchMs) / 1_000) * 3), crowd.perSecond));
    process.stderr.write(`round ${round} of ${options.rounds}  ${[...many.slice(-1), ...alone.slice(-1)].map((each) => `${each.groups} groups: ${whole(each.perSecond)} jobs/s, free slot waits p99 ${decimals(each.slotWaitMs.p99)} ms`).join('; ')}\n`);
  }
  const [crowd, single] = [middle(many), middle(alone)];
  const row = (each: Measured): string[] => [whole(each.groups), whole(each.perSecond), decimals(each.slotWaitMs.p50), decimals(each.slotWaitMs.p99)];
  return {
    text: [
      `groups: ${options.store}; ${whole(options.jobs)} jobs wait in each of ${whole(options.groups)} groups; medians of ${options.rounds} rounds`,
      table(['groups', 'jobs/s', 'free slot waits p50 ms', 'p99 ms'], [row(crowd), row(single)]),
      `p99 with ${whole(options.groups)} groups is ${ratio(crowd.slotWaitMs.p99, single.slotWaitMs.p99)} that of one`,
    ].join('\n'),
    json: { scenario: 'groups', store: options.store, groups: options.groups, jobs_per_group: options.jobs, many: figures(crowd), one: figures(single), p99_ratio: roundMs(crowd.slotWaitMs.p99 / single.slotWaitMs.p99) },
    fault: undefined,
  };
}

const figures = ({ perSecond, slotWaitMs: { p50, p99 } }: Measured) => ({ jobs_per_s: Math.round(perSecond), slot_wait_ms: { p50: roundMs(p50), p99: roundMs(p99) } });

function middle(rounds: Measured[]): Measured {
  const of = (value: (each: Measured) => number): number => median(rounds.map(value));
  return { groups: rounds[0]?.groups ?? 0, perSecond: of((each) => each.perSecond), slotWaitMs: { p50: of((each) => each.slotWaitMs.p50), p99: of((each) => each.slotWaitMs.p99) } };
}

/** @param perSecond the rate; undefined: half of what is possible */
async function measure({ store, payload }: Options, groupCount: number, jobs: number, perSecond: number | undefined): Promise<Measured> {
  const servers = await startTrackers({ parent: storeParent(), store, trackers: 1 });
  const children: Child[] = [];
  try {
    const settings: LtsSettings = { trackers: servers.addresses, folder: servers.folder, groups: groupCount, workThreads: slots };
    const producer = new Child(new URL('../ours/producer.js', import.meta.url));
    children.push(producer);
    await producer.call('open', settings);
    await producer.call('submit', { first: 0, count: jobs, batch: 500, inFlight: 8, payload } satisfies SubmitOrder);
    await producer.call('close');
    const workers = new Child(new URL('../ours/busy-workers.js', import.meta.url));
    children.push(workers);
    await workers.call('open', settings);
    const watch = (order: BusyOrder): Promise<BusyRecord> => workers.call('watch', order);
    const share = Math.ceil(jobs / 6);
    const half = async (): Promise<number> => (await watch({ runMs: 0, warmUp: { ms: warmUpMs, runs: share }, watch: { ms: fullMs, runs: share } })).perSecond / 2;
    const rate = perSecond ?? (await half());
    const record = await watch({ runMs: (slots / rate) * 1_000, warmUp: { ms: 2 * warmUpMs, runs: share }, watch: { ms: watchMs, runs: 2 * share } });
    return { groups: groupCount, ...record };
  } finally {
    for (const child of children) await child.end();
    await servers.stop();
  }
}
