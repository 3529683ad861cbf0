/** One guard, how it is removed from the compiled output, and the test that must turn red without it. */
export interface Mutant {
  guard: string;
  /** Below the root of the package. */
  file: string;
  /** Occurs exactly once in the file. */
  from: string;
  to: string;
  /** A test of one project. */
  proof: { project: string; test: string; name: string };
}

const tracker = 'dist/services/job-tracker';
const sqlite = `${tracker}/queue/stores/sqlite`;
const postgres = 'services/job-tracker/queue/stores/postgres/migrations/0002_transitions.sql';
const onSqlite = (name: string): Mutant['proof'] => ({ project: 'conformance', test: 'dist/test/conformance/queue-store.test.js', name });
const onPostgres = (name: string): Mutant['proof'] => ({ project: 'conformance', test: 'dist/test/conformance/queue-store-postgres.test.js', name });
const unit = (test: string, name: string): Mutant['proof'] => ({ project: 'unit', test: `dist/${test}`, name });

export const mutants: readonly Mutant[] = [
  {
    guard: 'a commit under an old epoch is refused (SQLite)',
    file: `${sqlite}/apply-batch.js`,
    from: 'if (stored === epoch)',
    to: 'if (stored !== undefined)',
    proof: onSqlite('fences a commit whose epoch is not current'),
  },
  {
    guard: 'a commit under an old epoch is refused (PostgreSQL)',
    file: postgres,
    from: 'IF v_row.epoch <> p_epochs[v_at] THEN',
    to: 'IF false THEN',
    proof: onPostgres('fences a commit whose epoch is not current'),
  },
  {
    guard: 'a task has one current instance (SQLite)',
    file: `${sqlite}/admit.js`,
    from: 'if (w.sql.addTask.run(groupId, t.taskId, seq, t.dueAt).changes > 0)',
    to: 'if (w.sql.addTask.run(groupId, t.taskId, seq, t.dueAt).changes >= 0)',
    proof: onSqlite('blocks one job behind a run'),
  },
  {
    guard: 'an id that comes again gets its first answer (SQLite)',
    file: `${sqlite}/admit.js`,
    from: 'if (added.changes === 0)',
    to: 'if (added.changes < 0)',
    proof: onSqlite('answers an id again in every state'),
  },
  {
    guard: 'only the current attempt ends an instance (SQLite)',
    file: `${sqlite}/writer-sql.js`,
    from: 'assigned_at, ?, ?, ? FROM executing WHERE seq = ? AND attempt = ?`',
    to: 'assigned_at, ?, ?, ? FROM executing WHERE seq = ? AND ? > 0`',
    proof: onSqlite('applies an end only to the current attempt'),
  },
  {
    guard: 'only the current attempt ends an instance (PostgreSQL)',
    file: postgres,
    from: '> 0 AND l.state >= 3 AND l.attempts = p_ends[(k - 1) * 12 + 4]',
    to: '> 0 AND l.state >= 3',
    proof: onPostgres('applies an end only to the current attempt'),
  },
  {
    guard: 'what is being cancelled is not tried again (SQLite)',
    file: `${sqlite}/writer-sql.js`,
    from: 'AND attempt = ? AND cancelling = 0',
    to: 'AND attempt = ?',
    proof: onSqlite('lets what is being cancelled not run again'),
  },
  {
    guard: 'a scheduled time becomes a run once (SQLite)',
    file: `${sqlite}/fire.js`,
    from: 'live.nextAt === from',
    to: 'true',
    proof: onSqlite('takes effect once'),
  },
  {
    guard: 'a run of a suspended schedule is not tried again (SQLite)',
    file: `${sqlite}/alter.js`,
    from: 'w.schedules.markLast.run(run.seq);',
    to: '',
    proof: onSqlite('lets no run of a suspended schedule wait again'),
  },
  {
    guard: 'a held run is released, never promoted (SQLite)',
    file: `${sqlite}/run-transitions.js`,
    from: 'Math.min(t.now, heldUntil - 1)',
    to: 't.now',
    proof: onSqlite('holds a run until it is released'),
  },
  {
    guard: 'what is being cancelled is not tried again (PostgreSQL)',
    file: postgres,
    from: '= 0 AND l.state = 3 AND l.attempts',
    to: '= 0 AND l.state >= 3 AND l.attempts',
    proof: onPostgres('lets what is being cancelled not run again'),
  },
  {
    guard: 'a place in the election that nobody confirmed is found again by its GUID',
    file: 'dist/shared/registry/registries/zookeeper/election.js',
    from: 'this.#loop.attach(connection);',
    to: 'this.#uuid = randomUUID();\n        this.#loop.attach(connection);',
    proof: { project: 'conformance', test: 'dist/test/conformance/registry-faults.test.js', name: 'to the create of a place' },
  },
  {
    guard: 'a stream that is full is written to only after its drain',
    file: 'dist/shared/grpc/stream-writer.js',
    from: 'this.#full = true;',
    to: 'this.#full = false;',
    proof: { project: 'interop', test: 'dist/test/interop/malformed/flood.test.js', name: 'that never reads is cut off' },
  },
  {
    guard: 'an attempt is stored before its task is sent',
    file: `${tracker}/dispatch/dispatcher.js`,
    from: "this.#pipeline.add({ kind: 'start',",
    to: `session.task({ instance_id: row.id, attempt, partition, epoch: this.#groups.partitions.get(partition)?.epoch ?? 0, job: job ?? Buffer.alloc(0), scheduled_time: row.dueAt, fencing_token: fence, retry_times: row.retryTimes });
        this.#workers.touched(session);
        this.#pipeline.add({ kind: 'start',`,
    proof: unit('services/job-tracker/dispatch/dispatcher.test.js', 'sends nothing whose attempt is not stored'),
  },
  {
    guard: 'an attempt is sent again by one send at a time',
    file: `${tracker}/dispatch/dispatcher.js`,
    from: ' || execution.resending',
    to: '',
    proof: unit('services/job-tracker/dispatch/dispatcher.test.js', 'sends an attempt once'),
  },
  {
    guard: 'a worker gets nothing before its whole inventory is there',
    file: `${tracker}/dispatch/worker.js`,
    from: 'return this.confirmed && this.session !== undefined',
    to: 'return this.session !== undefined',
    proof: unit('services/job-tracker/dispatch/worker-directory.test.js', 'gives it no tasks before its inventory'),
  },
  {
    guard: 'STALE is said only after a committed read',
    file: `${tracker}/complete/take-results.js`,
    from: "this.#pipeline.add({ kind: 'late',",
    to: "return settle('REFUSAL_REASON_STALE');\n        this.#pipeline.add({ kind: 'late',",
    proof: unit('services/job-tracker/complete/take-results.test.js', 'is STALE only once a commit'),
  },
  {
    guard: 'what is not loaded is LOADING, not STALE',
    file: `${tracker}/complete/take-results.js`,
    from: "if (!this.#groups.partitions.has(partition))\n            return settle('REFUSAL_REASON_LOADING');",
    to: "if (!this.#groups.partitions.has(partition))\n            return settle('REFUSAL_REASON_STALE');",
    proof: unit('services/job-tracker/complete/take-results.test.js', 'while the partition is not loaded'),
  },
  {
    guard: 'of drains at the same moment the last one is refused',
    file: `${tracker}/lead/drained-nodes.js`,
    from: 'check(nodes);',
    to: 'check(this.#nodes);',
    proof: unit('services/job-tracker/lead/node-drain.test.js', 'when several are asked at the same moment'),
  },
  {
    guard: 'a leader whom the election shows overwrites any assignment',
    file: `${tracker}/lead/lead.js`,
    from: '!(await this.#isFirst(sequence))',
    to: 'true',
    proof: unit('services/job-tracker/lead/lead.test.js', 'a place that nobody has'),
  },
];
