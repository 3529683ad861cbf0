import { address, duration, int, list, size, text } from '../../shared/config/kinds.js';
import { defineSettings, type SettingsOf } from '../../shared/config/settings.js';

/** Settings of the TaskTracker. It opens no port: it calls the trackers. */
export const taskTrackerSettings = defineSettings({
  group: { schema: text({ pattern: /^[A-Za-z0-9._:-]{1,64}$/, form: '1 to 64 of A-Z a-z 0-9 . _ : -' }), required: true, description: 'The group whose jobs it runs.' },
  runners: { schema: text({ word: 'file' }), required: true, description: 'Module that exports the runners, functions by job type, as `runners` or as its default.' },
  trackers: { schema: list(address()), default: ['127.0.0.1:7401'], emptyWith: 'zookeeper', description: 'JobTrackers to ask for the owner of the group. With --zookeeper the default is none.' },
  zookeeper: { schema: text({ word: 'servers' }), description: 'host:port,host:port of ZooKeeper, which names the trackers.' },
  cluster: { schema: text({ pattern: /^[A-Za-z0-9._-]{1,64}$/ }), default: 'default', description: 'Name of the cluster in ZooKeeper.' },
  nodeId: { schema: text({ pattern: /^[A-Za-z0-9._:-]{1,128}$/ }), description: 'Stable name of this node, unique in its group. Default: one of this host and data folder that no other process has.' },
  workThreads: { schema: int({ min: 1, max: 10_000 }), default: 64, description: 'Tasks that run at once.' },
  dataDir: { schema: text({ word: 'folder' }), default: './data', description: 'Folder for results and log lines that could not be delivered; a local disk.' },
  failStoreSize: { schema: size({ min: 1024 * 1024 }), default: '64MiB', description: 'How much of it is kept.' },
  grace: { schema: duration({ min: 0 }), default: '10s', description: 'At the end, runs may go on for so long before they are aborted.' },
});

/** The values of the settings. */
export type TaskTrackerConfig = SettingsOf<typeof taskTrackerSettings>;
