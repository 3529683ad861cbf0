import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { messageOf } from '../errors/lts-error.js';
import { type Clock, systemClock } from '../time/clock.js';
import { readSelfName } from './place.js';
import type { SelfState } from './self-socket.js';

/** What asking a process gave. */
export type SelfAnswer =
  | { kind: 'state'; state: SelfState }
  /** Nobody listens: the process was killed. */
  | { kind: 'dead' }
  /** It has left meanwhile. */
  | { kind: 'gone' }
  /** It exists and does not answer. */
  | { kind: 'silent' }
  | { kind: 'failed'; why: string };

/** A process of this host, and what it answered. */
export interface AskedProcess {
  service: string;
  pid: number;
  answer: SelfAnswer;
}

/** Asks all processes of this host whose sockets lie in this folder, at once; each within withinMs. */
export async function askProcesses(folder: string, withinMs: number, clock: Clock = systemClock): Promise<AskedProcess[]> {
  const asked = namesIn(folder).flatMap((name) => {
    const whose = readSelfName(name);
    return whose === undefined ? [] : [{ ...whose, name }];
  });
  const answers = await Promise.all(asked.map(async ({ service, pid, name }) => ({ service, pid, answer: await askSocket(join(folder, name), withinMs, clock) })));
  return answers.filter(({ answer }) => answer.kind !== 'gone').toSorted((a, b) => a.service.localeCompare(b.service) || a.pid - b.pid);
}

/** Asks one socket. Never rejects. */
export function askSocket(path: string, withinMs: number, clock: Clock = systemClock): Promise<SelfAnswer> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(path);
    const end = (answer: SelfAnswer): void => {
      timer.cancel();
      socket.destroy();
      resolve(answer);
    };
    const timer = clock.after(withinMs, () => end({ kind: 'silent' }));
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    socket.once('end', () => end(readAnswer(text)));
    socket.once('error', (error: NodeJS.ErrnoException) => end(fromError(error)));
  });
}

function readAnswer(text: string): SelfAnswer {
  try {
    return { kind: 'state', state: JSON.parse(text) as SelfState };
  } catch (error) {
    return { kind: 'failed', why: `its answer cannot be read: ${messageOf(error)}` };
  }
}

function fromError(error: NodeJS.ErrnoException): SelfAnswer {
  if (error.code === 'ECONNREFUSED') return { kind: 'dead' };
  if (error.code === 'ENOENT') return { kind: 'gone' };
  if (error.code === 'EACCES') return { kind: 'failed', why: 'this user may not ask it; ask as the user that it runs as' };
  return { kind: 'failed', why: error.message };
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
