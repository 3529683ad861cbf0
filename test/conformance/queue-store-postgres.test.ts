import { afterAll } from 'vitest';
import { queueStoreConformance } from './queue-store.js';
import { SharedPostgres } from './queue-store-postgres-bench.js';

const server = new SharedPostgres();
afterAll(() => server.stop());

queueStoreConformance('PostgreSQL', () => server.bench());
