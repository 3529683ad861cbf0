import { address, bool, int, text } from '../../shared/config/kinds.js';
import { requireInsecure } from '../../shared/config/require-insecure.js';
import { defineSettings, type SettingsOf } from '../../shared/config/settings.js';
import { checkStore, jobTrackerSettings } from '../job-tracker/config.js';

/** Settings of the whole suite in one process. What is not named here has the default of its service. */
export const standaloneSettings = defineSettings(
  {
    listen: { schema: address(), default: '127.0.0.1:7400', description: 'Where the gateway serves gRPC: the address for applications.' },
    trackerListen: { schema: address(), default: '127.0.0.1:7401', description: 'Where the JobTracker serves gRPC: the address for workers.' },
    dataDir: { schema: text({ word: 'folder' }), default: './data', description: 'Folder of the store and of the FailStores; a local disk.' },
    store: jobTrackerSettings.fields.store,
    postgresUrl: jobTrackerSettings.fields.postgresUrl,
    group: { schema: text({ pattern: /^[A-Za-z0-9._:-]{1,64}$/ }), default: 'demo', description: 'The group of the worker that comes along.' },
    runners: { schema: text({ word: 'file' }), description: 'Module with the runners of that worker. Default: samples such as echo, sleep, fail.' },
    workThreads: { schema: int({ min: 1, max: 10_000 }), default: 8, description: 'Tasks that it runs at once.' },
    insecure: { schema: bool(), default: false, description: 'Serve other machines in plain text; only in a network that you trust.' },
  },
  ({ listen, insecure }) => requireInsecure(listen, insecure),
  ({ trackerListen, insecure }) => requireInsecure(trackerListen, insecure),
  checkStore,
);

/** The values of the settings. */
export type StandaloneConfig = SettingsOf<typeof standaloneSettings>;
