import { checkDocumentPath, checkName } from '../../limits.js';
import type { Member, MemberKind } from '../../registry.js';
import type { Connection } from './connection.js';
import { codeOf } from './zk-error.js';

/** Where everything of one cluster is kept. */
export interface Layout {
  members(kind: MemberKind): string;
  member(member: Member): string;
  election(name: string): string;
  document(path: string): string;
}

/** `{chroot}/lts/{cluster}/…`. INVALID_ARGUMENT when the cluster's name is none. */
export function layoutOf(chroot: string, cluster: string): Layout {
  const root = `${chroot}/lts/${checkName('cluster', cluster)}`;
  const members = (kind: MemberKind): string => `${root}/members/${kind}`;
  return {
    members,
    // The incarnation makes it unique; the node id is there for people and cut to what a name may hold.
    member: (member) => `${members(member.kind)}/${member.nodeId.replaceAll(/[^A-Za-z0-9._-]/g, '_').slice(0, 64)}-${member.incarnation}`,
    election: (name) => `${root}/elections/${checkName('election', name)}`,
    // One folder for all, so that no document is in the way of another: ":" cannot be in a path.
    document: (path) => `${root}/documents/${checkDocumentPath(path).replaceAll('/', ':')}`,
  };
}

/** The path without its last name. */
export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

/** Creates the persistent node and those above it, as far as they are missing. */
export async function ensurePath(connection: Connection, path: string): Promise<void> {
  const names = path.split('/').slice(1);
  for (let depth = 1; depth <= names.length; depth++) {
    try {
      await connection.create(`/${names.slice(0, depth).join('/')}`, Buffer.alloc(0), 'PERSISTENT');
    } catch (error) {
      if (codeOf(error) !== 'NODE_EXISTS') throw error;
    }
  }
}

/** Does the work; when its folder is missing, creates that and does the work again. */
export async function withFolder<T>(connection: Connection, folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (codeOf(error) !== 'NO_NODE') throw error;
    await ensurePath(connection, folder);
    return await work();
  }
}
