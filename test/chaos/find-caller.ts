import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/**
 * Which of the processes has the connection whose own port is that: tells the callers of one server apart. Reads
 * Linux's /proc; undefined when none of them has it.
 */
export function findCaller(port: number, pids: readonly number[]): number | undefined {
  const inode = socketOf(port);
  if (inode === undefined) return undefined;
  const link = `socket:[${inode}]`;
  return pids.find((pid) => holds(pid, link));
}

/** The inode of the socket on 127.0.0.1 with that port and a peer. */
function socketOf(port: number): string | undefined {
  const own = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  for (const line of readFileSync('/proc/net/tcp', 'utf8').split('\n')) {
    const [, local, peer, , , , , , , inode] = line.trim().split(/\s+/);
    if (local === own && peer !== '00000000:0000') return inode;
  }
  return undefined;
}

function holds(pid: number, link: string): boolean {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).some((fd) => readlinkSync(`${folder}/${fd}`) === link);
  } catch {
    // It has ended, or closed a file meanwhile: then it is not the caller any more.
    return false;
  }
}
