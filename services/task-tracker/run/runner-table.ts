import { LtsError } from '../../../shared/errors/lts-error.js';
import type { Run } from './run.js';
import type { Runner, RunnerContext, Runners } from './runner.js';

/** Runs a task: the user's code, or what hands it to a thread. */
export type Perform = (context: RunnerContext, run: Run) => unknown;

/** The runners of this worker, checked, by job type. */
export interface RunnerTable {
  /** The types it has; empty: any. */
  readonly types: readonly string[];
  /** Undefined: there is none for this type. The empty type is "default". */
  find(type: string): Perform | undefined;
}

/** What the trackers take. */
const maxTypes = 1_000;

/** Makes the perform function of a runner that wants a thread of its own. */
export type ThreadPerform = (type: string) => Perform;

/** Checks the runners. Errors: CONFIG_INVALID, with every problem at once. */
export function makeRunnerTable(runners: Runners, inThread: ThreadPerform | undefined): RunnerTable {
  if (typeof runners === 'function') return { types: [], find: () => runners };
  const problems: string[] = [];
  const table = new Map<string, Perform>();
  for (const [type, entry] of Object.entries<unknown>(runners ?? {})) {
    const found = readEntry(type, entry, inThread, problems);
    if (found !== undefined) table.set(type, found);
  }
  if (table.size === 0 && problems.length === 0) problems.push('there is no runner; give functions by job type, such as { default: async ({ job }) => {} }');
  if (table.size > maxTypes) problems.push(`there are ${table.size} types, at most ${maxTypes} are allowed; use one function for all types`);
  if (problems.length > 0) throw new LtsError('CONFIG_INVALID', `runners: ${problems.join('; ')}`);
  return { types: [...table.keys()], find: (type) => table.get(type === '' ? 'default' : type) };
}

function readEntry(type: string, entry: unknown, inThread: ThreadPerform | undefined, problems: string[]): Perform | undefined {
  if (type.length < 1 || type.length > 128) problems.push(`the type ${JSON.stringify(type)} has not 1 to 128 characters`);
  if (typeof entry === 'function') return entry as Runner;
  const { run, thread } = (entry ?? {}) as { run?: unknown; thread?: unknown };
  if (typeof run !== 'function') {
    problems.push(`${type} is neither a function nor { run, thread }`);
    return undefined;
  }
  if (thread !== true) return run as Runner;
  if (inThread !== undefined) return inThread(type);
  problems.push(`${type} asks for a thread of its own, which needs the runners as a module: give its path`);
  return undefined;
}
