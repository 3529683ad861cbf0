import { connect } from 'node:net';
import { join } from 'node:path';
import { credentials } from '@grpc/grpc-js';
import { contract } from '../../../shared/grpc/contract.js';
import { packageRoot } from '../../../shared/package-root.js';
import { eventually } from '../../kit/eventually.js';
import { OwnServer, serverFolder } from '../../kit/own-server.js';
import { freePort } from '../../kit/ports.js';
import { startPostgres } from '../../kit/postgres.js';
import { ZooKeeperServer } from '../../kit/zookeeper.js';
import type { StoreName } from '../options.js';

/** Our trackers as users start them, with the servers that they need. */
export interface Trackers {
  /** host:port of each. */
  addresses: string[];
  /** Their processes. */
  servers: OwnServer[];
  /** A folder for whoever works with them; deleted with them. */
  folder: string;
  /** Stops everything and deletes the store. */
  stop: () => Promise<void>;
}

/** What is started. */
export interface TrackersOptions {
  parent: string;
  store: StoreName;
  trackers: number;
}

/** The servers behind the trackers, and the arguments with which trackers use them. */
export interface Backing {
  args: string[];
  stop: () => Promise<void>;
}

/** Starts what the store needs, and a ZooKeeper when there are several trackers. */
export async function startBacking({ parent, store, trackers }: TrackersOptions): Promise<Backing> {
  const undo: (() => Promise<void>)[] = [];
  const args: string[] = [];
  const stop = (): Promise<void> => undoAll(undo);
  try {
    if (store === 'postgres') {
      const postgres = await startPostgres({ parent });
      undo.push(() => postgres.stop());
      args.push('--store', 'postgres', '--postgres-url', postgres.url);
    }
    if (trackers > 1) {
      const zookeeper = await ZooKeeperServer.start();
      undo.push(() => zookeeper.stop());
      args.push('--zookeeper', zookeeper.connect);
    }
    return { args, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Starts so many trackers on an empty store; several share its partitions through a ZooKeeper of their own. */
export async function startTrackers(options: TrackersOptions): Promise<Trackers> {
  const { parent, store, trackers } = options;
  const undo: (() => Promise<void>)[] = [];
  const stop = (): Promise<void> => undoAll(undo);
  try {
    const backing = await startBacking(options);
    undo.push(() => backing.stop());
    const folder = serverFolder('lts', parent);
    const addresses: string[] = [];
    const servers: OwnServer[] = [];
    for (let number = 0; number < trackers; number++) {
      const port = await freePort();
      const own = number === 0 ? folder : serverFolder('lts', parent);
      const data = store === 'sqlite' ? ['--data-dir', join(own, 'tracker')] : [];
      const tracker = new OwnServer({
        name: 'job-tracker',
        command: process.execPath,
        args: [join(packageRoot, 'dist/services/cli/main.js'), 'job-tracker', '--listen', `127.0.0.1:${port}`, ...data, ...backing.args],
        folder: own,
        stopSignal: 'SIGTERM',
      });
      undo.push(() => tracker.stop());
      servers.push(tracker);
      await tracker.ready(() => reachable(port));
      addresses.push(`127.0.0.1:${port}`);
    }
    await allOwn(addresses);
    return { addresses, servers, folder, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function undoAll(undo: (() => Promise<void>)[]): Promise<void> {
  for (let step = undo.pop(); step !== undefined; step = undo.pop()) await step();
}

/** Resolves when every tracker owns its share and none is without an owner. */
export async function allOwn(addresses: readonly string[], withinMs = 30_000): Promise<void> {
  const admins = addresses.map((address) => new contract.AdminService(address, credentials.createInsecure()));
  const owned = (admin: (typeof admins)[number]): Promise<{ owned: number; partitions: number }> =>
    new Promise((resolve, reject) => {
      admin.GetCluster({}, (error, answer) => (error === null ? resolve({ owned: answer?.owned.length ?? 0, partitions: answer?.map?.partitions ?? 0 }) : reject(error)));
    });
  const shared = async (): Promise<boolean> => {
    const all = await Promise.all(admins.map(owned));
    return all.every((each) => each.owned > 0) && all.reduce((sum, each) => sum + each.owned, 0) === all[0]?.partitions;
  };
  await eventually(() => shared().catch(() => false), { withinMs, everyMs: 50, what: 'the trackers own all partitions' });
  for (const admin of admins) admin.close();
}

function reachable(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve();
    });
    socket.once('error', reject);
  });
}
