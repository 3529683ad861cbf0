import type { Connection } from './connection.js';

/** What must hold at every moment; each select gives examples of what breaks it. */
const invariants: readonly { what: string; broken: string }[] = [
  { what: 'lives without its instance', broken: 'SELECT l.id::text FROM lts.live l WHERE NOT EXISTS (SELECT 1 FROM lts.instance i WHERE i.id = l.id AND i.seq = l.seq)' },
  { what: 'lives although it has ended', broken: 'SELECT l.id::text FROM lts.live l WHERE EXISTS (SELECT 1 FROM lts.ended e WHERE e.id = l.id)' },
  { what: 'is executing without a worker', broken: 'SELECT l.id::text FROM lts.live l WHERE l.state >= 3 AND NOT EXISTS (SELECT 1 FROM lts.worker w WHERE w.worker_id = l.worker_id)' },
  { what: 'is of another partition than its group', broken: 'SELECT l.id::text FROM lts.live l LEFT JOIN lts.node_group g USING (group_id) WHERE l.part IS DISTINCT FROM g.part' },
  { what: 'has more than one current instance', broken: "SELECT 'task ' || min(task_id) FROM lts.live WHERE state > 0 GROUP BY group_id, task_id HAVING count(*) > 1" },
  { what: 'waits behind a task that has no current instance', broken: 'SELECT n.id::text FROM lts.live n WHERE n.state = 0 AND NOT EXISTS (SELECT 1 FROM lts.live c WHERE c.state > 0 AND c.group_id = n.group_id AND c.task_id = n.task_id)' },
  { what: 'is a schedule without its next time, or of another partition than its group', broken: 'SELECT s.id::text FROM lts.schedule s LEFT JOIN lts.node_group g USING (group_id) LEFT JOIN lts.schedule_next n USING (sched) WHERE (s.part, s.part) IS DISTINCT FROM (g.part, n.part)' },
  { what: 'is a schedule that is suspended and fires, or the other way round', broken: 'SELECT s.id::text FROM lts.schedule s JOIN lts.schedule_next n USING (sched) WHERE (s.state = 2) IS DISTINCT FROM (n.next_at IS NULL)' },
  { what: 'is a schedule of a task that lives without it', broken: 'SELECT s.id::text FROM lts.schedule s WHERE EXISTS (SELECT 1 FROM lts.live l WHERE l.group_id = s.group_id AND l.task_id = s.task_id)' },
  { what: 'is owed without having ended', broken: 'SELECT f.id::text FROM lts.feedback f WHERE NOT EXISTS (SELECT 1 FROM lts.ended e WHERE e.id = f.id)' },
  { what: 'is behind its numbers: arrivals would be given again', broken: `SELECT 'sequence lts.seq' FROM lts.seq s WHERE s.last_value < (SELECT max(seq) FROM lts.instance)` },
  { what: 'has no owner row', broken: "SELECT 'partition ' || p.n FROM lts.meta m CROSS JOIN generate_series(0, m.partitions - 1) AS p(n) WHERE NOT EXISTS (SELECT 1 FROM lts.ownership o WHERE o.part = p.n)" },
  { what: 'is an index that is not valid', broken: "SELECT i.indexrelid::regclass::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relnamespace = 'lts'::regnamespace AND NOT i.indisvalid" },
];

const mostNamed = 5;

/** A sentence for each invariant that is broken. */
export async function findProblems(connection: Connection): Promise<string[]> {
  const problems: string[] = [];
  for (const { what, broken } of invariants) {
    const { rows } = await connection.query<{ name: string }>(`SELECT b.name FROM (${broken}) AS b(name) LIMIT ${mostNamed + 1}`, undefined);
    if (rows.length === 0) continue;
    const names = rows.slice(0, mostNamed).map(({ name }) => name);
    problems.push(`${names.join(', ')}${rows.length > mostNamed ? ' and others' : ''}: ${what}`);
  }
  return problems;
}
