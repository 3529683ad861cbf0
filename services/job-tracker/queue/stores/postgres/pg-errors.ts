import { LtsError, messageOf } from '../../../../../shared/errors/lts-error.js';
import type { Reason } from '../../../../../shared/errors/reasons.js';

/** What kind of failure an error of the server or of the network is. */
export type PgFailureKind = 'data' | 'repeat' | 'busy' | 'full' | 'away' | 'read-only' | 'denied' | 'damaged' | 'foreign' | 'other';

/** A call that failed. */
export class PgFailure extends LtsError {
  /** True: nothing of the call is stored. False: unknown. */
  readonly rolledBack: boolean;
  readonly kind: PgFailureKind;
  /** The server's code; empty when it is not the server that said it. */
  readonly sqlState: string;

  constructor(reason: Reason, message: string, values: { rolledBack: boolean; kind: PgFailureKind; sqlState?: string; cause?: unknown }) {
    super(reason, message, { cause: values.cause });
    this.rolledBack = values.rolledBack;
    this.kind = values.kind;
    this.sqlState = values.sqlState ?? '';
  }
}

/** How the failure reads, and what to do. The first code or class that fits decides. */
const table: readonly { codes: RegExp; kind: PgFailureKind; reason: Reason; hint: string }[] = [
  { codes: /^(40001|40P01)$/, kind: 'repeat', reason: 'STORE_LOCKED', hint: 'it is tried again' },
  { codes: /^55P03$/, kind: 'busy', reason: 'STORE_LOCKED', hint: 'another session holds the lock: see pg_locks' },
  { codes: /^57014$/, kind: 'busy', reason: 'STORE_LOCKED', hint: 'it took too long or was cancelled: see pg_stat_activity and pg_locks' },
  { codes: /^LT001$/, kind: 'other', reason: 'STALE_EPOCH', hint: 'nothing of it is stored' },
  { codes: /^LT002$/, kind: 'other', reason: 'CONFIG_INVALID', hint: 'name one that it has' },
  { codes: /^(53100|53200)$/, kind: 'full', reason: 'DISK_LOW', hint: 'free disk or memory where the server runs' },
  { codes: /^25006$/, kind: 'read-only', reason: 'STORE_FAILED', hint: 'the server takes no writes (a stand-by, or default_transaction_read_only): it is tried again until it does' },
  { codes: /^57P0/, kind: 'away', reason: 'STORE_FAILED', hint: 'the server ends or starts: it is tried again' },
  { codes: /^(08|53300|53400)/, kind: 'away', reason: 'STORE_FAILED', hint: 'it is tried again' },
  { codes: /^(28|3D000)/, kind: 'denied', reason: 'CONFIG_INVALID', hint: 'correct user, password and database in postgresUrl' },
  { codes: /^42501$/, kind: 'denied', reason: 'CONFIG_INVALID', hint: 'grant the user of postgresUrl the right, or name another user' },
  { codes: /^(3F000|42P01|42883|42703)$/, kind: 'foreign', reason: 'STORE_FOREIGN', hint: 'the schema lts is not the one of this program: name the right database' },
  { codes: /^(XX001|XX002)$/, kind: 'damaged', reason: 'STORE_DAMAGED', hint: 'restore the database from a backup' },
  { codes: /^(22|23|54)/, kind: 'data', reason: 'STORE_FAILED', hint: 'the value cannot be stored' },
];

/** What the driver itself says when an address lacks something, and the way out. */
const refusals: readonly { said: RegExp; hint: string }[] = [
  { said: /client password must be a string/, hint: 'no password; give it in postgresUrl or by PGPASSWORD' },
  { said: /server does not support SSL/, hint: 'turn on ssl there, or correct sslmode in postgresUrl' },
];

/**
 * What an error means. An ERROR ends the statement, and with it all that it did. A FATAL one ends the session, perhaps
 * after the commit; so does a lost connection: once the call was sent its outcome is unknown.
 */
export function failureOf(server: string, error: unknown, sent: boolean): PgFailure {
  if (error instanceof PgFailure) return error;
  const refusal = refusals.find(({ said }) => said.test(messageOf(error)));
  if (refusal !== undefined) return new PgFailure('CONFIG_INVALID', `store ${server}: ${messageOf(error)}; ${refusal.hint}`, { rolledBack: true, kind: 'denied', cause: error });
  const { code, severity } = fieldsOf(error);
  const isState = /^[0-9A-Z]{5}$/.test(code) && severity !== '';
  const sqlState = isState ? code : '';
  const row = isState ? table.find(({ codes }) => codes.test(sqlState)) : undefined;
  const ends = !isState || severity === 'FATAL' || severity === 'PANIC' || /^(08|57P)/.test(sqlState);
  const kind = row?.kind ?? (isState ? 'other' : 'away');
  const hint = row?.hint ?? (isState ? "look into the server's log" : 'check that the server runs and can be reached; it is tried again');
  const message = `store ${server}: ${code === '' ? '' : `${code}: `}${messageOf(error) || 'no answer'}; ${hint}`;
  return new PgFailure(row?.reason ?? 'STORE_FAILED', message, { rolledBack: !sent || !ends, kind, sqlState, cause: error });
}

/** Of errors of the server: SQLSTATE and severity. Of the network: the system's code. */
function fieldsOf(error: unknown): { code: string; severity: string } {
  const { code, severity } = (error ?? {}) as { code?: unknown; severity?: unknown };
  return { code: typeof code === 'string' ? code : '', severity: typeof severity === 'string' ? severity : '' };
}
