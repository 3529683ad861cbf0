import { LtsError, messageOf } from '../../../errors/lts-error.js';

/**
 * What became of an operation. NOT_SENT: certainly without effect. UNKNOWN: the connection ended before the answer; it
 * may have had its effect, and the session may go on.
 */
export type ZkCode = 'NO_NODE' | 'NODE_EXISTS' | 'BAD_VERSION' | 'NOT_SENT' | 'UNKNOWN' | 'REFUSED';

/** An operation that failed, inside the ZooKeeper layer. */
export class ZkError extends Error {
  readonly code: ZkCode;

  constructor(code: ZkCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ZkError';
    this.code = code;
  }
}

/** The code of an operation's failure; undefined for anything else. */
export function codeOf(error: unknown): ZkCode | undefined {
  return error instanceof ZkError ? error.code : undefined;
}

const codes = new Map<number, ZkCode>([
  [-4, 'UNKNOWN'],
  [-101, 'NO_NODE'],
  [-103, 'BAD_VERSION'],
  [-110, 'NODE_EXISTS'],
  [-112, 'UNKNOWN'],
]);

/** The failure behind an error code of the server. */
export function fromServerCode(what: string, code: number | undefined, cause: unknown): ZkError {
  const known = code === undefined ? undefined : codes.get(code);
  if (known === 'UNKNOWN') return new ZkError(known, `${what}: outcome unknown: the connection ended`, { cause });
  return new ZkError(known ?? 'REFUSED', `${what}: ${known ?? 'ZooKeeper refused it'} (code ${code ?? 'none'})`, { cause });
}

/** The error as users of the registry get it. */
export function toRegistryError(error: unknown): LtsError {
  if (error instanceof LtsError) return error;
  return new LtsError('REGISTRY_UNAVAILABLE', `ZooKeeper: ${messageOf(error)}`, { cause: error });
}
