import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { relative, resolve } from 'node:path';
import { LtsError } from '../errors/lts-error.js';

/** The longest path of a socket that every system takes (macOS: 104 bytes with its end mark), in bytes. */
const longestPath = 103;
const longestName = '/task-tracker.4194304.0123abcd.sock'.length;

/** Marks the sockets of this host (in a container: of this container) in a folder that several may share. */
function hostMark(): string {
  return createHash('sha256').update(hostname()).digest('hex').slice(0, 4);
}

/** Folder of the sockets of all processes that have this data folder. Throws CONFIG_INVALID when its path is too long. */
export function selfFolder(dataDir: string): string {
  const whole = resolve(dataDir, 'self');
  const fits = [whole, relative(process.cwd(), whole)].find((folder) => Buffer.byteLength(folder) + longestName <= longestPath);
  if (fits !== undefined) return fits;
  throw new LtsError('CONFIG_INVALID', `data-dir: a socket in ${whole} has a longer path than the ${longestPath} bytes that systems allow; choose a shorter --data-dir`);
}

/** A name that no other socket has: service, process and a random mark tell it apart. */
export function selfName(service: string, pid: number, mark: string): string {
  return `${service}.${pid}.${hostMark()}${mark}.sock`;
}

/** Whose socket it is; undefined when it is none of this host. */
export function readSelfName(name: string): { service: string; pid: number } | undefined {
  const [, service, pid, host] = /^([a-z-]+)\.(\d+)\.([0-9a-f]{4})[0-9a-f]{4}\.sock$/.exec(name) ?? [];
  return service !== undefined && host === hostMark() ? { service, pid: Number(pid) } : undefined;
}
