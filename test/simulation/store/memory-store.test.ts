import { queueStoreConformance } from '../../conformance/queue-store.js';
import { MemoryDatabase } from './memory-database.js';
import { MemoryStore } from './memory-store.js';

/** The simulation is worth as much as the store that it runs on: that one does what every adapter does. */
queueStoreConformance('memory', async () => {
  const db = new MemoryDatabase('test', 4, '00000000-0000-4000-8000-000000000000');
  const opened: MemoryStore[] = [];
  return {
    connect: ({ cluster = 'test', partitions = 4 } = {}) => {
      const store = new MemoryStore(db, { cluster, partitions });
      opened.push(store);
      return store;
    },
    destroy: async () => {
      for (const store of opened) await store.close();
    },
  };
});
