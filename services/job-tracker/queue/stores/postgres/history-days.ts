import type { Connection } from './connection.js';
import type { RunStatement } from './ordered-calls.js';
import { PgFailure } from './pg-errors.js';

/** What of a connection is used. */
type Session = Pick<Connection, 'query' | 'isLost'>;

export const dayMs = 86_400_000;

/** Partitions are made ahead for so many days. */
const daysAhead = 2;
/** Makes the days from the one before this moment on: jobs may still arrive that were made yesterday. */
export const makeDaysSql = `SELECT lts.make_partitions(now_ms - ${dayMs}, now_ms + ${daysAhead * dayMs}) FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms) n`;

/** The histories; each is cut into days by id. */
const tables = ['log', 'attempt', 'ended', 'instance'] as const;
/** So many instances of a day may move to the default partitions; with more the day stays. */
const mostMoved = 200;
/** Dropping locks the histories for a moment; commits wait no longer for it. */
const lockWithin = '200ms';

/** The days (their first millisecond) that have a partition, oldest first. */
export async function daysOf(low: RunStatement): Promise<number[]> {
  const { rows } = await low<{ day: string }>(
    `SELECT right(c.relname, 8) AS day FROM pg_inherits h JOIN pg_class c ON c.oid = h.inhrelid
     WHERE h.inhparent = 'lts.instance'::regclass AND c.relname ~ '^instance_[0-9]{8}$' ORDER BY 1`,
  );
  return rows.map(({ day }) => Date.UTC(Number(day.slice(0, 4)), Number(day.slice(4, 6)) - 1, Number(day.slice(6))));
}

/** Drops a day, when only few of its instances are still wanted. Tells how many instances went; undefined: it stays. */
export async function dropDay(connection: Session, day: number, before: number): Promise<number | undefined> {
  const date = new Date(day).toISOString().slice(0, 10).replaceAll('-', '');
  try {
    const seen = await look(connection, date, day, before);
    if (seen.wanted.length > mostMoved) return undefined;
    await connection.query(`BEGIN; SET LOCAL lock_timeout = '${lockWithin}'`, undefined);
    const isDropped = await drop(connection, date, day, seen);
    await connection.query(isDropped ? 'COMMIT' : 'ROLLBACK', undefined);
    return isDropped ? seen.ended - seen.late : undefined;
  } catch (error) {
    if (connection.isLost || !isPassing(error)) throw error;
    await connection.query('ROLLBACK', undefined);
    return undefined;
  }
}

interface Seen {
  /** Ids that live or ended later. */
  wanted: string[];
  ended: number;
  late: number;
  /** The last arrival in it: nothing was added as long as it is the same. */
  last: number | null;
}

async function look(connection: Session, date: string, day: number, before: number): Promise<Seen> {
  const { rows: counts } = await connection.query<{ last: number | null; ended: number; late: number }>(
    `SELECT (SELECT max(seq) FROM lts.instance_${date}) AS last, count(*) AS ended, count(*) FILTER (WHERE ended_at >= $1) AS late FROM lts.ended_${date}`,
    [before],
  );
  const { rows } = await connection.query<{ id: string }>(
    `SELECT id FROM lts.live WHERE id >= lts.least_id($1) AND id < lts.least_id($1 + $2)
     UNION SELECT id FROM lts.ended_${date} WHERE ended_at >= $3 LIMIT ${mostMoved + 1}`,
    [day, dayMs, before],
  );
  return { wanted: rows.map(({ id }) => id), ...(counts[0] ?? { last: null, ended: 0, late: 0 }) };
}

/** While the lock is held nothing is added, and what lived may only have ended, which keeps it among the wanted. */
async function drop(connection: Session, date: string, day: number, { wanted, last }: Seen): Promise<boolean> {
  await connection.query(`LOCK TABLE ${tables.map((table) => `ONLY lts.${table}`).join(', ')} IN ACCESS EXCLUSIVE MODE`, undefined);
  const { rows } = await connection.query<{ last: number | null }>(`SELECT max(seq) AS last FROM lts.instance_${date}`, undefined);
  if (rows[0]?.last !== last) return false;
  for (const table of tables) {
    await connection.query(`ALTER TABLE lts.${table} DETACH PARTITION lts.${table}_${date}`, undefined);
    if (wanted.length > 0) await connection.query(`INSERT INTO lts.${table} SELECT * FROM lts.${table}_${date} WHERE id = ANY ($1::uuid[])`, [wanted]);
  }
  await connection.query(`DROP TABLE ${tables.map((table) => `lts.${table}_${date}`).join(', ')}`, undefined);
  await connection.query('DELETE FROM lts.feedback WHERE id >= lts.least_id($1) AND id < lts.least_id($1 + $2) AND id <> ALL ($3::uuid[])', [day, dayMs, wanted]);
  return true;
}

/** Busy, or another tracker was faster. The codes are the server's. */
function isPassing(error: unknown): boolean {
  const code = error instanceof PgFailure ? error.sqlState : (error as { code?: unknown }).code;
  return code === '55P03' || code === '40P01' || code === '42P01';
}
