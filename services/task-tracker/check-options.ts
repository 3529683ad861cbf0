import { LtsError } from '../../shared/errors/lts-error.js';
import type { TaskTrackerOptions } from './options.js';

type Defaulted = 'trackers' | 'cluster' | 'workThreads' | 'dataDir' | 'failStoreBytes' | 'graceMs' | 'deliverMs';

/** Options that are complete and within their bounds. */
export type CheckedOptions = Required<Pick<TaskTrackerOptions, Defaulted | 'nodeGroup' | 'runners'>> & {
  zookeeper: string | undefined;
  nodeId: string | undefined;
  log: TaskTrackerOptions['log'] | undefined;
};

const mebibyte = 1024 * 1024;

/** Fills in the defaults. Errors: CONFIG_INVALID, with every problem at once. */
export function checkOptions(options: TaskTrackerOptions): CheckedOptions {
  const checked: CheckedOptions = {
    trackers: options.trackers ?? [],
    zookeeper: options.zookeeper,
    cluster: options.cluster ?? 'default',
    nodeGroup: options.nodeGroup,
    runners: options.runners,
    workThreads: options.workThreads ?? 64,
    dataDir: options.dataDir ?? './data',
    failStoreBytes: options.failStoreBytes ?? 64 * mebibyte,
    nodeId: options.nodeId,
    graceMs: options.graceMs ?? 10_000,
    deliverMs: options.deliverMs ?? 5_000,
    log: options.log,
  };
  const problems: string[] = [];
  if (checked.trackers.length === 0 && checked.zookeeper === undefined) problems.push('trackers: give host:port of at least one JobTracker, or zookeeper');
  if (!/^[A-Za-z0-9._:-]{1,64}$/.test(checked.nodeGroup ?? '')) problems.push(`nodeGroup: ${JSON.stringify(checked.nodeGroup)} is not 1 to 64 of A-Z a-z 0-9 . _ : -`);
  if (checked.nodeId !== undefined && (checked.nodeId.length < 1 || checked.nodeId.length > 128)) problems.push('nodeId: has not 1 to 128 characters');
  if (checked.runners === undefined || checked.runners === null) problems.push('runners: is missing; give functions by job type, or the path of a module that exports them');
  checkNumber('workThreads', checked.workThreads, 1, 10_000, problems);
  checkNumber('failStoreBytes', checked.failStoreBytes, mebibyte, 1024 * 1024 * mebibyte, problems);
  checkNumber('graceMs', checked.graceMs, 0, 7 * 86_400_000, problems);
  checkNumber('deliverMs', checked.deliverMs, 0, 3_600_000, problems);
  if (problems.length > 0) throw new LtsError('CONFIG_INVALID', problems.join('\n'));
  return checked;
}

function checkNumber(name: string, value: number, least: number, most: number, problems: string[]): void {
  if (!Number.isInteger(value) || value < least || value > most) problems.push(`${name}: ${String(value)} is not a whole number from ${least} to ${most}`);
}
