import { queueStoreConformance } from './queue-store.js';
import { SqliteBench } from './queue-store-sqlite-bench.js';

queueStoreConformance('SQLite', async () => new SqliteBench());
