import type pg from 'pg';

/** Levels at which a commit waits for a stand-by that is named as synchronous. */
const waitingLevels = ['remote_write', 'on', 'remote_apply'];

/**
 * Why a confirmed commit may be on one server only; undefined when it is not, or when there is no replica and none is
 * demanded. Whoever fails over to such a replica loses what it had not received.
 */
export async function acksNotReplicated(
  query: <R extends pg.QueryResultRow>(text: string) => Promise<pg.QueryResult<R>>,
  demanded: boolean,
): Promise<string | undefined> {
  const { rows } = await query<{ replicas: number; names: string; level: string }>(
    `SELECT (SELECT count(*) FROM pg_stat_replication) AS replicas, current_setting('synchronous_standby_names') AS names,
       current_setting('synchronous_commit') AS level`,
  );
  const { replicas = 0, names = '', level = '' } = rows[0] ?? {};
  if (replicas === 0 && !demanded) return undefined;
  if (names !== '' && waitingLevels.includes(level)) return undefined;
  const what = names === '' ? 'synchronous_standby_names is empty' : `synchronous_commit is ${level}`;
  return `${what}, so a commit is confirmed before any of the ${replicas} replicas has it and a fail-over can lose it; name a stand-by there, with synchronous_commit = on`;
}
