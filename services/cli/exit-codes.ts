import { status } from '@grpc/grpc-js';
import { LtsError } from '../../shared/errors/lts-error.js';
import { type Reason, reasons } from '../../shared/errors/reasons.js';

/** How the command ends, for scripts. Help and README print this table. */
export const exitCodes = {
  ok: { code: 0, meaning: 'Done; with --wait: the job succeeded.' },
  failed: { code: 1, meaning: 'It failed; with --wait: the job ended otherwise than SUCCEEDED; of node check: not healthy; of store check: problems found.' },
  usage: { code: 2, meaning: 'An argument or an option is wrong; nothing was sent.' },
  notFound: { code: 3, meaning: 'There is no such job, instance or entry.' },
  refused: { code: 4, meaning: 'The server refused it: a value, a limit, a full disk or backlog.' },
  unavailable: { code: 5, meaning: 'No server, or no owner of the group, could be reached.' },
  software: { code: 70, meaning: 'A service met an error that it cannot handle.' },
  config: { code: 78, meaning: 'A service cannot start: its settings are wrong (all problems are printed).' },
  timeout: { code: 124, meaning: 'Not done within --timeout or --wait-timeout; the outcome is not known.' },
  interrupted: { code: 130, meaning: 'Ctrl+C while --wait waited; the job goes on.' },
} as const;

/** One of the listed ends. */
export type ExitName = keyof typeof exitCodes;

/** All others are refusals. */
const exitOfStatus: { [code in status]?: ExitName } = {
  [status.NOT_FOUND]: 'notFound',
  [status.UNAVAILABLE]: 'unavailable',
  [status.DEADLINE_EXCEEDED]: 'timeout',
  [status.INTERNAL]: 'failed',
  [status.CANCELLED]: 'failed',
  [status.DATA_LOSS]: 'failed',
};

/** The end that an error of this reason leads to. */
export function exitOfReason(reason: Reason): ExitName {
  return exitOfStatus[reasons[reason].code] ?? 'refused';
}

/** The end that any thrown value leads to. */
export function exitOfError(error: unknown): ExitName {
  return error instanceof LtsError ? exitOfReason(error.reason) : 'failed';
}
