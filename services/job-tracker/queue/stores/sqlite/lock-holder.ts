import { readFileSync, statSync } from 'node:fs';

/** Offset of the byte in the -shm file that a writer locks (WAL index format). */
const writeLockByte = 120;

/**
 * The process that holds the write lock of a WAL database, from the kernel's table of locks; undefined when that does
 * not tell. The -shm file is only looked at by stat: opening and closing it here would drop this process's own locks.
 */
export function writeLockHolder(file: string): number | undefined {
  try {
    const { ino } = statSync(`${file}-shm`);
    for (const line of readFileSync('/proc/locks', 'utf8').split('\n')) {
      const match = /POSIX\s+\S+\s+WRITE\s+(\d+)\s+[0-9a-f]+:[0-9a-f]+:(\d+)\s+(\d+)\s+(\d+|EOF)/.exec(line);
      if (match === null || Number(match[2]) !== ino) continue;
      const [, pid, , from, to] = match;
      if (Number(from) <= writeLockByte && (to === 'EOF' || Number(to) >= writeLockByte) && Number(pid) > 0) return Number(pid);
    }
  } catch {
    // No /proc, or the file has gone: the caller names the owners of partitions instead.
  }
  return undefined;
}
