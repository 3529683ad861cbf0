import { writeSync } from 'node:fs';
import { newId } from '../../shared/ids.js';
import { CommitFailed, type QueueStore } from '../../services/job-tracker/queue/queue-store.js';
import { createPostgresStore } from '../../services/job-tracker/queue/stores/postgres/postgres-store.js';
import { createSqliteStore } from '../../services/job-tracker/queue/stores/sqlite/sqlite-store.js';
import { admit, finish, OpenStore, owner, start, t0 } from './queue-store-bench.js';

/** What a looping child says of a batch once it is acked. */
export interface Acked {
  admitted: string[];
  finished: string[];
}

/** Commits for ever and says after each ack what is stored. */
async function loop(store: QueueStore): Promise<void> {
  const open = await OpenStore.of(store, { ...owner, pid: process.pid });
  let running: { id: string; seq: number }[] = [];
  for (;;) {
    const jobs = Array.from({ length: 20 }, () => admit({ taskId: newId(), needFeedback: true, submitNodeGroup: 'clients' }));
    const outcomes = await open.commit([...jobs, ...running.map(({ seq }) => finish(seq))]);
    const ready = jobs.map(({ id }, i) => ({ id, seq: (outcomes[i] as { seq: number }).seq }));
    say({ admitted: jobs.map(({ id }) => id), finished: running.map(({ id }) => id) });
    await open.commit(ready.map(({ seq }) => start(seq)));
    running = ready;
  }
}

/** Stops for ever inside its second transaction, with the write lock. */
async function hold(file: string): Promise<void> {
  const stall = { transaction: 2, at: 'work', does: { stallMs: 600_000 } } as const;
  const open = await OpenStore.of(createSqliteStore({ file, cluster: 'test', partitions: 4, faults: [stall] }), { ...owner, pid: process.pid });
  say({ admitted: [], finished: [] });
  await open.commit([admit({ createdAt: t0 })]);
}

/** One whole line, also when the process is killed the next moment. */
function say(acked: Acked): void {
  writeSync(1, `${JSON.stringify(acked)}\n`);
}

// Whoever started it has gone.
process.stdin.resume().on('end', () => process.exit(2));

/** Where the store is: a file, or the address of a server. */
const [mode, at = ''] = process.argv.slice(2);
const made = { cluster: 'test', partitions: 4 };

function run(): Promise<void> {
  if (mode === 'hold') return hold(at);
  return loop(at.startsWith('postgres:') ? createPostgresStore({ url: at, ...made }) : createSqliteStore({ file: at, ...made }));
}

await run().catch((error: unknown) => {
  if (error instanceof CommitFailed) process.exit(3);
  throw error;
});
