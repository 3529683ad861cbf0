import type { AttemptOutcome, FinalState, InstanceState } from '../instance-state.js';
import type { LeftRuns, LogRow } from '../queue-store.js';

/** Stored numbers of the states: those of the contract's InstanceState. */
export const stateCodes: Record<InstanceState, number> = {
  WAITING: 1,
  READY: 2,
  EXECUTING: 3,
  CANCELLING: 4,
  SUCCEEDED: 5,
  FAILED: 6,
  CANCELLED: 7,
  REPLACED: 8,
  LOST: 9,
  MISSED: 11,
  DISCARDED: 12,
};

/** The `ended.state` of an ignored duplicate: no instance, only kept so that its id is answered again. */
export const ignoredCode = 10;

/** Stored numbers of the outcomes: those of the contract's AttemptOutcome. */
export const outcomeCodes: Record<AttemptOutcome, number> = {
  SUCCESS: 1,
  FAILED: 2,
  LATER: 3,
  EXCEPTION: 4,
  CANCELLED: 5,
  LOST: 6,
  INTERRUPTED: 7,
};

/** Stored numbers of the log levels: those of the contract's LogLevel. */
export const levelCodes: Record<LogRow['level'], number> = { DEBUG: 1, INFO: 2, WARN: 3, ERROR: 4 };

/** Stored numbers of what has left runs that are to end. */
export const leftCodes: Record<LeftRuns['by'], number> = { suspend: 1, delete: 2, cancel: 3 };

function inverse<T extends string>(codes: Record<T, number>): ReadonlyMap<number, T> {
  return new Map(Object.entries(codes).map(([name, code]) => [code as number, name as T]));
}

const states = inverse(stateCodes);
const outcomes = inverse(outcomeCodes);
const levels = inverse(levelCodes);
const enders = inverse(leftCodes);

/** The state of a stored number. */
export function stateOf(code: number): InstanceState {
  const state = states.get(code);
  if (state === undefined) throw new Error(`the store holds the unknown state ${code}`);
  return state;
}

/** The final state of a stored number. */
export function finalStateOf(code: number): FinalState {
  return stateOf(code) as FinalState;
}

/** The outcome of a stored number; undefined when none is stored. */
export function outcomeOf(code: number | null): AttemptOutcome | undefined {
  return code === null ? undefined : outcomes.get(code);
}

/** The level of a stored number. */
export function levelOf(code: number): LogRow['level'] {
  return levels.get(code) ?? 'INFO';
}

/** What has left runs, of a stored number. */
export function leftBy(code: number): LeftRuns['by'] {
  const by = enders.get(code);
  if (by === undefined) throw new Error(`the store holds runs that were left by ${code}`);
  return by;
}
