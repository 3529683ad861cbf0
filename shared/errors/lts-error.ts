import type { Reason } from './reasons.js';

/** What an error may carry beside its text. */
export interface LtsErrorOptions {
  /** The error that led here; logged, never sent. */
  cause?: unknown;
  /** NOT_OWNER: host:port of the owner. */
  owner?: string;
}

/** The one error family. The message names what was wrong, with the value, and what to do next. */
export class LtsError extends Error {
  readonly reason: Reason;
  readonly owner: string | undefined;

  constructor(reason: Reason, message: string, options: LtsErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'LtsError';
    this.reason = reason;
    this.owner = options.owner;
  }
}

/** The error as an LtsError; anything unknown becomes INTERNAL with its text kept as the cause only. */
export function toLtsError(error: unknown): LtsError {
  if (error instanceof LtsError) return error;
  return new LtsError('INTERNAL', 'unexpected error', { cause: error });
}

/** The text of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
