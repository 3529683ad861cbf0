import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Connection } from '../../services/job-tracker/queue/stores/postgres/connection.js';
import { systemClock } from '../../shared/time/clock.js';
import { eventually } from '../kit/eventually.js';
import { type Postgres, startPostgres } from '../kit/postgres.js';

let server: Postgres;
const unhandled: unknown[] = [];
const note = (error: unknown): void => void unhandled.push(error);

beforeAll(async () => {
  server = await startPostgres();
  process.on('unhandledRejection', note);
});

afterAll(async () => {
  process.off('unhandledRejection', note);
  await server.stop();
});

it('a connection that the server ended before its next statement fails that one, and leaves no rejection that would end the process', async () => {
  const connection = await Connection.make({ url: server.url, what: 'test', who: 'me', pooled: false, statementTimeoutMs: 0 }, systemClock);
  const other = new pg.Client({ connectionString: server.url });
  await other.connect();
  await other.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'lts/test/me'`);
  await other.end();
  await eventually(() => connection.isLost);
  await expect(connection.query('SELECT 1', undefined)).rejects.toMatchObject({ code: '57P01' });
  connection.destroy(new Error('given up'));
  await new Promise((resolve) => setImmediate(resolve));
  expect(unhandled).toEqual([]);
});
