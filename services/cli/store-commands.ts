import { bool, choice, text } from '../../shared/config/kinds.js';
import { defineSettings, type SettingFields, type Settings, type ValuesOf } from '../../shared/config/settings.js';
import { type JobTrackerConfig, jobTrackerSettings } from '../job-tracker/config.js';
import type { ExitName } from './exit-codes.js';
import type { Output } from './output.js';
import { processSettings } from './process-settings.js';

/** What a handler of a command that works on a store gets. */
export interface StoreCall<Options> {
  /** Settings of the tracker, from the same places as the tracker's. */
  config: JobTrackerConfig;
  options: Options;
  output: Output;
}

/** Runs the command; says how it ended. Throws LtsError. */
export type StoreHandler<Options> = (call: StoreCall<Options>) => Promise<ExitName>;

/** One row of the table of commands that work on a store without a server: `lts store <name>`. */
export interface StoreCommand {
  name: string;
  description: string;
  options: SettingFields;
  examples: readonly string[];
  handler: () => Promise<StoreHandler<never>>;
}

function storeCommand<const F extends SettingFields>(row: Omit<StoreCommand, 'handler' | 'options'> & { options: F; handler: () => Promise<StoreHandler<ValuesOf<F>>> }): StoreCommand {
  return row;
}

/** How data is printed; of every one of them. */
export const outputSettings = defineSettings({ output: { schema: choice(['table', 'json']), default: 'table', description: 'How data is printed.' } });

const { cluster, zookeeper, store, dataDir, postgresUrl, postgresPooled, requireSyncReplica, lockWait } = jobTrackerSettings.fields;

/** All settings of a tracker's process: its file may hold any of them. */
export const trackerSettings = { fields: { ...jobTrackerSettings.fields, ...processSettings.fields }, checks: jobTrackerSettings.checks };

/** Those of the tracker's settings that say which store; the others are read as well, and not used. */
export const storeSettings: Settings = { fields: { cluster, zookeeper, store, dataDir, postgresUrl, postgresPooled, requireSyncReplica, lockWait }, checks: [] };

export const checkOptions = {} as const satisfies SettingFields;
export const migrateOptions = {} as const satisfies SettingFields;
export const backupOptions = { file: { schema: text({ word: 'file' }), required: true, description: 'Where the copy goes; it must not exist.' } } as const satisfies SettingFields;
export const adoptOptions = { force: { schema: bool(), default: false, description: 'Also while trackers are registered.' } } as const satisfies SettingFields;

/** Every command that works on a store by itself, by the settings of the JobTracker. */
export const storeCommands: readonly StoreCommand[] = [
  storeCommand({
    name: 'check',
    description: 'Checks who the store is and whether what it holds is whole; changes nothing.',
    options: checkOptions,
    examples: ['lts store check --data-dir ./data', 'LTS_POSTGRES_URL=… lts store check --store postgres'],
    handler: async () => (await import('./handlers/store.js')).checkStore,
  }),
  storeCommand({
    name: 'backup',
    description: 'Copies the store into a file, as it is at one moment, while trackers run.',
    options: backupOptions,
    examples: ['lts store backup --data-dir ./data --file queue-backup.db'],
    handler: async () => (await import('./handlers/store.js')).backupStore,
  }),
  storeCommand({
    name: 'migrate',
    description: 'Runs all migrations, also those that take away what an older tracker needs.',
    options: migrateOptions,
    examples: [],
    handler: async () => (await import('./handlers/store.js')).migrateTheStore,
  }),
  storeCommand({
    name: 'adopt',
    description: "After a restore: makes this the cluster's store in ZooKeeper, if there is one, and lets workers follow it that have seen a later state.",
    options: adoptOptions,
    examples: ['lts store adopt --zookeeper 127.0.0.1:2181 --data-dir ./restored', 'lts store adopt --data-dir ./data'],
    handler: async () => (await import('./handlers/store.js')).adoptTheStore,
  }),
];
