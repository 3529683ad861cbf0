import { messageOf } from '../../../../../shared/errors/lts-error.js';
import type { Reason } from '../../../../../shared/errors/reasons.js';

/** What kind of failure an error of the driver is. */
export type FailureKind = 'busy' | 'full' | 'io' | 'data' | 'damaged' | 'foreign' | 'other';

/** The SQLite code of an error, empty when it has none. */
export function sqliteCode(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && code.startsWith('SQLITE_') ? code : '';
}

/** The kind of an error that the driver threw. Wrong types and ranges of bound values are data, too. */
export function kindOf(error: unknown): FailureKind {
  const code = sqliteCode(error);
  if (code === '') return error instanceof TypeError || error instanceof RangeError ? 'data' : 'other';
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')) return 'busy';
  if (code === 'SQLITE_FULL') return 'full';
  if (code.startsWith('SQLITE_IOERR')) return 'io';
  if (code.startsWith('SQLITE_CORRUPT')) return 'damaged';
  if (code === 'SQLITE_NOTADB') return 'foreign';
  if (/^SQLITE_(CONSTRAINT|TOOBIG|MISMATCH|RANGE)/.test(code)) return 'data';
  return 'other';
}

const reasonOf: Record<FailureKind, 'STORE_FAILED' | 'STORE_LOCKED' | 'DISK_LOW' | 'STORE_DAMAGED' | 'STORE_FOREIGN'> = {
  busy: 'STORE_LOCKED',
  full: 'DISK_LOW',
  io: 'STORE_FAILED',
  data: 'STORE_FAILED',
  damaged: 'STORE_DAMAGED',
  foreign: 'STORE_FOREIGN',
  other: 'STORE_FAILED',
};

/** The stable reason of an error that the driver threw. */
export function reasonOfDriver(error: unknown): Reason {
  return reasonOf[kindOf(error)];
}

const hints: Partial<Record<FailureKind, string>> = {
  full: '; the disk is full: free space where the store lies',
  damaged: '; restore it from a backup',
};

/** The text for people: file, SQLite code, what it said and the way out. */
export function describeFailure(file: string, error: unknown): string {
  const code = sqliteCode(error);
  const hint = hints[kindOf(error)] ?? '';
  return `store ${file}: ${code === '' ? '' : `${code}: `}${messageOf(error)}${hint}`;
}
