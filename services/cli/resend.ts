import type { ExitName } from './exit-codes.js';
import type { Output } from './output.js';

/** What can be sent again, for messages. */
export interface ResendKind {
  /** In the plural. */
  noun: string;
  /** The command that lists them. */
  list: string;
}

const mostShown = 20;

/** How a resend ends, with a message when not all that were named could be sent: the answer only counts them. */
export function exitOfResend(ids: readonly string[], resent: number, { noun, list }: ResendKind, output: Output): ExitName {
  const named = [...new Set(ids)];
  if (resent >= named.length) return 'ok';
  if (resent > 0) {
    output.message(`${resent} of ${named.length}: the others are not dead ${noun}; see: ${list}`);
    return 'ok';
  }
  const shown = `${named.slice(0, mostShown).join(', ')}${named.length > mostShown ? ', …' : ''}`;
  output.message(`lts: NOT_FOUND: there are no such dead ${noun}: ${shown}; see: ${list}`);
  return 'notFound';
}
