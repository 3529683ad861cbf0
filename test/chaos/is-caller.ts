import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/**
 * Whether a process has the connection whose own port on 127.0.0.1 is that: tells the callers of one server apart.
 * Reads Linux's /proc.
 */
export function isCaller(pid: number, port: number): boolean {
  const inode = socketOf(port);
  if (inode === undefined) return false;
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).some((fd) => target(`${folder}/${fd}`) === `socket:[${inode}]`);
  } catch {
    // It has ended.
    return false;
  }
}

/** The inode of the socket with that port. */
function socketOf(port: number): string | undefined {
  const own = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const line = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .find((text) => text.slice(6, 6 + own.length) === own);
  return line?.trim().split(/\s+/)[9];
}

function target(link: string): string | undefined {
  try {
    return readlinkSync(link);
  } catch {
    // The file was closed meanwhile.
    return undefined;
  }
}
