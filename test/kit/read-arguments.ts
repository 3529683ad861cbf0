import { messageOf } from '../../shared/errors/lts-error.js';

/** The arguments cannot be used; the message says why and what can. */
export class BadArguments extends Error {}

/** What `parse` (parseArgs of Node) gives; what it throws becomes BadArguments. */
export function readArguments<Values>(parse: () => Values): Values {
  try {
    return parse();
  } catch (error) {
    throw new BadArguments(messageOf(error), { cause: error });
  }
}

/** Prints what a failed run says, bad arguments with the usage; gives the exit code: 2 for those, else 1. */
export function failRun(error: unknown, usage: string): number {
  const isBad = error instanceof BadArguments;
  process.stderr.write(isBad ? `${error.message}\n\n${usage}` : `${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  return isBad ? 2 : 1;
}
