import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Logger } from '../log/logger.js';
import { askSocket } from './ask.js';
import { selfFolder, selfName } from './place.js';

/** What a process tells of itself. */
export interface SelfState {
  nodeId: string;
  /** host:port of its gRPC server, whose health tells the rest; '' when it opens no port. */
  address: string;
  /** It was asked to leave and is about to end. */
  leaving: boolean;
  /** Of a process without a port: why it takes no work now; '' when it does. */
  unready: string;
}

/** Whose socket it is, and what answers. */
export interface SelfSocketOptions {
  dataDir: string;
  /** As in `lts <service>`. */
  service: string;
  state: () => SelfState;
  log: Logger;
}

/** An open socket; close() removes it. */
export interface SelfSocket {
  close(): void;
}

/** A socket that accepts and says nothing for so long belongs to a process that stands still: it is not removed. */
const staleWithinMs = 1_000;

/*
 * How `lts node check --self` learns how a process on this host is: a Unix socket in its data folder, which answers each
 * connection with one line of JSON. The thread that does the work answers it, so an answer is the proof of life: a paused
 * or hanging process gives none, and one that was killed refuses at once, whatever file it has left. Nothing is written
 * while the process runs, so neither clocks nor a full disk can make a good process look dead.
 *
 * Who owns what: the process owns its socket and removes it when it leaves. What killed processes have left is removed
 * by the next one that starts with the same data folder, and shown as dead until then. A socket gets its name only once
 * it listens, so that none that is about to listen looks like a left one.
 */
export function openSelfSocket({ dataDir, service, state, log }: SelfSocketOptions): SelfSocket {
  const mark = randomBytes(2).toString('hex');
  const name = selfName(service, process.pid, mark);
  const failed = (error: unknown): void => log.warn('self.failed', { dataDir, error });
  const server = createServer((socket) => {
    // Whoever asked may be gone.
    socket.on('error', () => undefined);
    socket.end(`${JSON.stringify(state())}\n`);
  });
  server.on('error', failed).unref();
  let folder = '';
  try {
    folder = selfFolder(dataDir);
    mkdirSync(folder, { recursive: true });
    server.once('listening', () => void appear(folder, mark, name).catch(failed));
    server.listen(join(folder, mark));
  } catch (error) {
    failed(error);
  }
  return {
    close: () => {
      server.close();
      if (folder !== '') rmSync(join(folder, name), { force: true });
    },
  };
}

async function appear(folder: string, mark: string, name: string): Promise<void> {
  renameSync(join(folder, mark), join(folder, name));
  const others = readdirSync(folder).filter((other) => other.endsWith('.sock') && other !== name);
  await Promise.all(
    others.map(async (other) => {
      const { kind } = await askSocket(join(folder, other), staleWithinMs);
      if (kind === 'dead') rmSync(join(folder, other), { force: true });
    }),
  );
}
