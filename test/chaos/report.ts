import Table from 'cli-table3';
import { readHistory } from '../checker/history.js';
import type { Happened } from './fault-runner.js';
import type { RunOptions } from './run.js';

/** What came out of a run. */
export interface Report {
  violations: string[];
  text: string;
}

export interface ReportInput {
  options: Pick<RunOptions, 'seed' | 'minutes' | 'store' | 'folder'>;
  faults: readonly Happened[];
  died: readonly string[];
  notes: readonly string[];
  peakMb: ReadonlyMap<string, number>;
  violations: string[];
  history: string;
}

const mostShown = 30;

/** The tables that are printed, and the violations. */
export function makeReport(input: ReportInput): Report {
  const { options, faults, died, notes, peakMb, violations } = input;
  const peaks = [...peakMb].map(([name, mb]) => `${name} ${Math.round(mb)}`).join(', ');
  const lines = [
    `seed ${options.seed}, ${options.minutes} min, --store ${options.store}`,
    faultTable(faults),
    jobTable(input.history, died.length),
    `largest memory in MB: ${peaks}`,
    ...notes.map((note) => `note: ${note}`),
    ...died.map((name) => `ended by itself: ${name}`),
    ...faults.flatMap(({ n, kind, target, failed }) => (failed === undefined ? [] : [`fault ${n} (${kind} ${target}) could not be made or healed: ${failed.split('\n')[0]}`])),
    ...violations.slice(0, mostShown),
    ...(violations.length > mostShown ? [`and ${violations.length - mostShown} more`] : []),
    violations.length === 0 ? 'no promise was broken' : `${violations.length} VIOLATIONS; --seed ${options.seed}; faults, logs and history: ${options.folder}`,
  ];
  return { violations, text: lines.join('\n') };
}

function faultTable(faults: readonly Happened[]): string {
  const table = new Table({ head: ['fault', 'times', 'targets', 'slowest until all groups ran'], style: { head: [], border: [] } });
  for (const kind of new Set(faults.map((fault) => fault.kind).toSorted())) {
    const some = faults.filter((fault) => fault.kind === kind);
    const slowest = Math.max(...some.map(({ recoveredMs }) => recoveredMs ?? 0));
    const targets = [...new Set(some.map(({ target }) => target))];
    table.push([kind, some.length, targets.length > 6 ? `${targets.slice(0, 5).join(' ')} and ${targets.length - 5} more` : targets.join(' '), `${(slowest / 1_000).toFixed(1)} s`]);
  }
  return table.toString();
}

function jobTable(history: string, died: number): string {
  const counts = new Map<string, number>();
  const count = (name: string, by = 1): void => void counts.set(name, (counts.get(name) ?? 0) + by);
  let recovered = '';
  for (const event of readHistory(history)) {
    if (event.kind === 'acked') count(event.local === true ? 'acked, on a client\'s disk first' : 'acked by a tracker');
    if (event.kind === 'refused') count('refused or unanswered');
    if (event.kind === 'cancelled') count('cancels acked');
    if (event.kind === 'start') count(event.attempt === 1 ? 'first attempts begun' : 'later attempts begun');
    if (event.kind === 'stored') {
      count(`ended ${event.state}`);
      count('attempts lost', event.attempts.filter(({ outcome }) => outcome === 'LOST').length);
    }
    if (event.kind === 'recovered') recovered = `${event.afterMs} ms, allowed ${event.limitMs} ms`;
  }
  count('processes that ended by themselves', died);
  const table = new Table({ style: { head: [], border: [] } });
  for (const [name, value] of [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1))) table.push([name, value]);
  table.push(['all groups ran after the last fault', recovered]);
  return table.toString();
}
