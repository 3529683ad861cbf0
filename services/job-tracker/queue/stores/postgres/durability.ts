import type pg from 'pg';

const needed = ['fsync', 'full_page_writes', 'synchronous_commit'];

/** Why the server can lose what it has confirmed when it crashes; undefined when it cannot. A reload can change it at any time. */
export async function acksNotDurable(query: <R extends pg.QueryResultRow>(text: string) => Promise<pg.QueryResult<R>>): Promise<string | undefined> {
  const { rows } = await query<Record<string, string>>(`SELECT ${needed.map((name) => `current_setting('${name}') AS ${name}`).join(', ')}`);
  const off = needed.find((name) => rows[0]?.[name] === 'off');
  return off === undefined ? undefined : `${off} is off, so the server can lose what it has confirmed; set ${off} = on`;
}
