import { afterAll, expect, it } from 'vitest';
import { type PgBouncer, startPgBouncer } from '../kit/pgbouncer.js';
import { startPostgres } from '../kit/postgres.js';
import { queueStoreConformance } from './queue-store.js';
import { PostgresBench } from './queue-store-postgres-bench.js';

const server = startPostgres();
let started: Promise<PgBouncer> | undefined;
const pooler = async (): Promise<PgBouncer> => (started ??= startPgBouncer(await server));
afterAll(async () => {
  await (await started)?.stop();
  await (await server).stop();
});

queueStoreConformance('PostgreSQL behind a pooler in transaction mode', async () => {
  const bench = await PostgresBench.make(await server);
  const { urlOf } = await pooler();
  return { connect: (options) => bench.connect({ url: urlOf(bench.url), pooled: true, ...options }), destroy: () => bench.destroy() };
});

it('a pooler is only told of by its setting: without it the options of the session are refused', async () => {
  const bench = await PostgresBench.make(await server);
  const { urlOf } = await pooler();
  await expect(bench.connect({ url: urlOf(bench.url) }).open()).rejects.toMatchObject({ message: expect.stringContaining('options') });
  await bench.destroy();
});
