import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { OwnServer, serverFolder } from './own-server.js';
import { freePort } from './ports.js';

/** Where distributions and builds from source put it. */
const folders = ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin'];

/** A private Redis that appends to its file and syncs it every second. */
export interface Redis {
  host: string;
  port: number;
  pid: number;
  /** Stops it and deletes its data. */
  stop(): Promise<void>;
}

/** Starts a new, empty Redis on 127.0.0.1. `parent`: where its private folder is made. */
export async function startRedis(options: { parent?: string } = {}): Promise<Redis> {
  const command = folders.map((place) => join(place, 'redis-server')).find((path) => existsSync(path));
  if (command === undefined) {
    throw new Error(
      `Redis is not installed: no redis-server in ${folders.join(', ')}. On Debian or Ubuntu: sudo apt-get install --no-install-recommends redis-server`,
    );
  }
  const folder = serverFolder('redis', options.parent);
  const port = await freePort();
  const settings = { bind: '127.0.0.1', port: String(port), dir: folder, appendonly: 'yes', appendfsync: 'everysec', save: '', 'maxmemory-policy': 'noeviction' };
  const server = new OwnServer({
    name: 'redis',
    command,
    args: Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]),
    folder,
    stopSignal: 'SIGTERM',
  });
  await server.ready(() => ping(port));
  return { host: '127.0.0.1', port, pid: server.pid, stop: () => server.stop() };
}

function ping(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    socket.setTimeout(1_000, () => socket.destroy(new Error('no answer to PING within 1 s')));
    socket.once('error', reject);
    socket.once('data', (answer) => {
      socket.destroy();
      if (answer.toString().startsWith('+PONG')) resolve();
      else reject(new Error(`redis answered ${answer.toString().trim()}`));
    });
  });
}
