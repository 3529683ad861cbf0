import { address, bool, choice, duration, formatAddress, int, secret, size, text } from '../../shared/config/kinds.js';
import { requireInsecure } from '../../shared/config/require-insecure.js';
import { defineSettings, type SettingsOf } from '../../shared/config/settings.js';
import { LtsError } from '../../shared/errors/lts-error.js';

/** A host that stands for every address of this one, 0.0.0.0 or ::; nobody elsewhere can call it. */
const wildcard = /^[0.:]+$/;

/** Settings of the JobTracker. */
export const jobTrackerSettings = defineSettings(
  {
    listen: { schema: address(), default: '127.0.0.1:7401', description: 'Where it serves gRPC; port 0 lets the system choose.' },
    advertise: { schema: address(), description: 'Where others reach it, when that is not where it listens; needed with --zookeeper when it listens on 0.0.0.0 or [::].' },
    nodeId: { schema: text({ pattern: /^[A-Za-z0-9._:-]{1,128}$/ }), description: 'Stable name of this node. It must be unique among the trackers: of two with one name only the later gets partitions. Default: job-tracker-, the host name and the port.' },
    cluster: { schema: text({ pattern: /^[A-Za-z0-9._-]{1,64}$/, word: 'name' }), default: 'default', description: 'Name of the cluster; everything in ZooKeeper lies under it, and the store remembers it.' },
    zookeeper: { schema: text({ word: 'servers' }), description: 'host:port,host:port of ZooKeeper. Without it this tracker is alone.' },
    sessionTimeout: { schema: duration({ min: 1_000 }), default: '10s', description: 'A dead tracker is displaced after this time. ZooKeeper grants 2 to 20 of its ticks.' },
    store: { schema: choice(['sqlite', 'postgres']), default: 'sqlite', description: 'Where jobs are kept: a file of this host, or a PostgreSQL for trackers on many hosts.' },
    dataDir: { schema: text({ word: 'folder' }), default: './data', description: 'Folder of the SQLite store; a local disk. Stand-bys on this host name the same one. With postgres only `lts node check --self` needs it.' },
    postgresUrl: {
      schema: secret({ pattern: /^postgres(ql)?:\/\/\S+$/, form: 'postgres://user:password@host:port/database?sslmode=…', word: 'url' }),
      description: 'Address of the PostgreSQL store. Add ?sslmode=verify-full for TLS with a server whose certificate is checked (and &sslrootcert=file for a CA of your own), ?sslmode=no-verify for TLS with any; without it the connection is plain text.',
    },
    postgresPooled: { schema: bool(), default: false, description: 'The address is of a pooler in transaction mode (pgbouncer), which refuses options of the session: the server\'s own time limits are then not set.' },
    requireSyncReplica: { schema: bool(), default: false, description: 'Refuse a PostgreSQL that confirms commits before a stand-by has them.' },
    partitions: { schema: int({ min: 1, max: 4_096 }), description: 'Partitions of the store, fixed when it is made; the same for every tracker of the cluster. Default: 1 with sqlite, 64 with postgres.' },
    grace: { schema: duration({ min: 100 }), default: '15s', description: 'How long the attempts of a worker are kept after its stream was lost.' },
    pingInterval: { schema: duration({ min: 50 }), default: '2s', description: 'How often workers are pinged; one that is silent for three times as long is cut off.' },
    backlogLimit: { schema: int({ min: 1 }), default: 5_000_000, description: 'Jobs of one group that may wait; more are refused with BACKLOG_FULL.' },
    readyInMemory: { schema: int({ min: 64 }), default: 200_000, description: 'Ready jobs that are kept in memory over all groups; the others stay in the store.' },
    retention: { schema: duration({ min: 60_000 }), default: '7d', description: 'How long ended jobs can be looked up and their ids are recognised.' },
    diskReserve: { schema: size(), default: '128MiB', description: 'With less free disk submits are refused with DISK_LOW.' },
    lockWait: { schema: duration({ min: 10 }), default: '5s', description: 'How long a commit or take-over waits for a store that another process holds.' },
    reflection: { schema: bool(), description: 'Serve gRPC reflection. Default: only on loopback.' },
    insecure: { schema: bool(), default: false, description: 'Serve other machines in plain text; only in a network that you trust.' },
  },
  ({ listen, insecure }) => requireInsecure(listen, insecure),
  ({ listen, advertise, zookeeper }) => {
    if (zookeeper === undefined || advertise !== undefined || !wildcard.test(listen.host)) return;
    throw new LtsError('CONFIG_INVALID', `listen: ${formatAddress(listen)} is a wildcard address; give --advertise host:port where others reach it`);
  },
  checkStore,
);

/** A store and its address go together: with one of them alone jobs would lie where nobody looks for them. */
export function checkStore({ store, postgresUrl }: { store: string; postgresUrl: string | undefined }): void {
  if (store === 'postgres' && postgresUrl === undefined) throw new LtsError('CONFIG_INVALID', 'postgresUrl: --store postgres needs it; give --postgres-url or LTS_POSTGRES_URL');
  if (store !== 'postgres' && postgresUrl !== undefined) throw new LtsError('CONFIG_INVALID', `postgresUrl is given but store is ${store}; add --store postgres`);
}

/** The values of the settings. */
export type JobTrackerConfig = SettingsOf<typeof jobTrackerSettings>;
