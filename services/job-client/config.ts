import { address, bool, duration, list, size, text } from '../../shared/config/kinds.js';
import { requireInsecure } from '../../shared/config/require-insecure.js';
import { defineSettings, type SettingsOf } from '../../shared/config/settings.js';

/** Settings of the JobClient gateway. */
export const jobClientSettings = defineSettings(
  {
    listen: { schema: address(), default: '127.0.0.1:7400', description: 'Where it serves gRPC; port 0 lets the system choose.' },
    advertise: { schema: address(), description: 'Where others reach it, when that is not where it listens.' },
    trackers: { schema: list(address()), default: ['127.0.0.1:7401'], emptyWith: 'zookeeper', description: 'JobTrackers to ask for the owners of groups; one that answers is enough. With --zookeeper the default is none.' },
    zookeeper: { schema: text({ word: 'servers' }), description: 'host:port,host:port of ZooKeeper, which names the trackers.' },
    cluster: { schema: text({ pattern: /^[A-Za-z0-9._-]{1,64}$/ }), default: 'default', description: 'Name of the cluster in ZooKeeper.' },
    nodeId: { schema: text({ pattern: /^[A-Za-z0-9._:-]{1,128}$/ }), description: 'Stable name of this node, unique in its data folder; it finds its stored jobs again by it. Default: job-client- and the port.' },
    dataDir: { schema: text({ word: 'folder' }), default: './data', description: 'Folder for jobs that no tracker took in time; a local disk.' },
    failStoreSize: { schema: size({ min: 1024 * 1024 }), default: '256MiB', description: 'How much of it is kept; more is refused with FAIL_STORE_FULL.' },
    submitTimeout: { schema: duration({ min: 50, max: 60_000 }), default: '3s', description: 'After so long without a tracker that takes it a job is stored on this disk.' },
    reflection: { schema: bool(), description: 'Serve gRPC reflection. Default: only on loopback.' },
    insecure: { schema: bool(), default: false, description: 'Serve other machines in plain text; only in a network that you trust.' },
  },
  ({ listen, insecure }) => requireInsecure(listen, insecure),
);

/** The values of the settings. */
export type JobClientConfig = SettingsOf<typeof jobClientSettings>;
