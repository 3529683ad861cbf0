import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../kit/eventually.js';
import type { Cluster, Tracker } from './cluster.js';

/** The byte of the -shm file that a writer of a WAL database locks. */
const writeLockByte = 120;

/** Whether the process holds the write lock of the database, by the kernel's table of locks (Linux). */
function holdsWriteLock(pid: number, database: string): boolean {
  const { ino } = statSync(`${database}-shm`);
  return readFileSync('/proc/locks', 'utf8').split('\n').some((line) => {
    const match = /POSIX\s+\S+\s+WRITE\s+(\d+)\s+\S+:(\d+)\s+(\d+)\s+(\d+|EOF)/.exec(line);
    if (match === null || Number(match[1]) !== pid || Number(match[2]) !== ino) return false;
    return Number(match[3]) <= writeLockByte && (match[4] === 'EOF' || Number(match[4]) >= writeLockByte);
  });
}

/** Whether every thread of the process stands still: a signal reaches them one after the other. */
function standsStill(pid: number): boolean {
  return readdirSync(`/proc/${pid}/task`).every((thread) => / T \d/.test(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8').replace(/^.*\)/, '')));
}

/**
 * Pauses the tracker (SIGSTOP) inside a transaction of its store, or between two: it is paused, looked at and resumed
 * until it stands where it should.
 */
export async function pauseAt(cluster: Cluster, tracker: Tracker, where: 'inside a transaction' | 'between transactions'): Promise<void> {
  const database = join(cluster.folder, 'store', 'queue.db');
  const { process } = tracker;
  const caught = async (): Promise<boolean> => {
    process.pause();
    await eventually(() => standsStill(process.pid), { everyMs: 1, what: 'all its threads stand still' });
    if (holdsWriteLock(process.pid, database) === (where === 'inside a transaction')) return true;
    process.resume();
    return false;
  };
  await eventually(caught, { withinMs: 30_000, everyMs: 7, what: `${tracker.name} stands ${where}` });
}
