import type { ValuesOf } from '../../../shared/config/settings.js';
import { createLogger } from '../../../shared/log/logger.js';
import { adoptStoreOf, migrateStore, openStoreTools } from '../../job-tracker/app.js';
import { formatRecord } from '../output.js';
import type { adoptOptions, backupOptions, StoreHandler } from '../store-commands.js';

const log = createLogger('store', 'warn');

/** lts store check: ends with 1 when something is wrong. */
export const checkStore: StoreHandler<object> = async ({ config, output }) => {
  const report = await openStoreTools(config).check();
  const { store, identity, schema, problems } = report;
  output.data(report, () =>
    formatRecord([
      ['store', store],
      ['store id', identity.storeId],
      ['cluster', identity.cluster],
      ['partitions', identity.partitions],
      ['schema', schema],
      ['state', problems.length === 0 ? 'OK' : 'problems found'],
      ...problems.map((problem): [string, string] => ['problem', problem]),
    ]),
  );
  return problems.length === 0 ? 'ok' : 'failed';
};

/** lts store backup: a copy in one file. */
export const backupStore: StoreHandler<ValuesOf<typeof backupOptions>> = async ({ config, options, output }) => {
  await openStoreTools(config).backup(options.file);
  output.data({ file: options.file }, () => `the store is copied to ${options.file}`);
  return 'ok';
};

/** lts store migrate: brings the schema up to this version, whole. */
export const migrateTheStore: StoreHandler<object> = async ({ config, output }) => {
  const ran = await migrateStore(config, log);
  output.data({ ran }, () => (ran.length === 0 ? 'the schema is up to date' : `ran ${ran.join(', ')}`));
  return 'ok';
};

/** lts store adopt: the cluster's trackers stand on this store from now on, and its workers follow. */
export const adoptTheStore: StoreHandler<ValuesOf<typeof adoptOptions>> = async ({ config, options, output }) => {
  const { storeId, before } = await adoptStoreOf(config, options.force, log);
  const was = before === undefined ? 'it had none' : before === storeId ? 'it was already' : `it was ${before}`;
  const said = config.zookeeper === undefined ? 'no ZooKeeper is given that names the store of a cluster' : `it is the store of cluster ${config.cluster}; ${was}`;
  output.data({ store_id: storeId, before: before ?? null }, () => `the epochs of ${storeId} are raised; ${said}`);
  return 'ok';
};
