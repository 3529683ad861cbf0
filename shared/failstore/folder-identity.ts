import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Whose stores these are: only those of one scope take over from each other. */
export interface StoreScope {
  kind: 'job-client' | 'task-tracker';
  cluster: string;
  /** Empty for services without a group. */
  nodeGroup: string;
  /** Where the cluster is: see endpointsOf. Clusters of one name that share none are taken for different ones. */
  endpoints: readonly string[];
}

/** What a folder says of its owner. */
export interface FolderIdentity extends StoreScope {
  nodeId: string;
}

/** It is for other processes, which may not open the folder's database while its owner lives. */
export const identityFile = 'identity.json';

/** Puts it there in one step. The caller holds the owner lock. */
export function writeIdentity(folder: string, identity: FolderIdentity): void {
  const { kind, cluster, nodeGroup, nodeId, endpoints } = identity;
  const path = join(folder, identityFile);
  writeFileSync(`${path}.new`, `${JSON.stringify({ kind, cluster, nodeGroup, nodeId, endpoints })}\n`);
  renameSync(`${path}.new`, path);
}

/** Undefined: the folder is of an earlier version, or the file cannot be read. */
export function readIdentity(folder: string): FolderIdentity | undefined {
  try {
    const { kind, cluster, nodeGroup, nodeId, endpoints } = JSON.parse(readFileSync(join(folder, identityFile), 'utf8')) as Partial<FolderIdentity>;
    if ((kind !== 'job-client' && kind !== 'task-tracker') || typeof cluster !== 'string' || typeof nodeGroup !== 'string' || typeof nodeId !== 'string') return undefined;
    return { kind, cluster, nodeGroup, nodeId, endpoints: Array.isArray(endpoints) ? endpoints.filter((each) => typeof each === 'string') : [] };
  } catch {
    return undefined;
  }
}

/** The servers of a ZooKeeper connection string, each with its path; without one the addresses of the trackers. */
export function endpointsOf(trackers: readonly string[], zookeeper: string | undefined): string[] {
  if (zookeeper === undefined) return [...trackers];
  const slash = zookeeper.indexOf('/');
  const [servers, path] = slash < 0 ? [zookeeper, ''] : [zookeeper.slice(0, slash), zookeeper.slice(slash)];
  return servers.split(',').map((server) => server.trim() + path);
}

/** Whether both have the same names; one node may be given other endpoints from one start to the next. */
export function sameNames(a: StoreScope, b: StoreScope): boolean {
  return a.kind === b.kind && a.cluster === b.cluster && a.nodeGroup === b.nodeGroup;
}

/** Whether both belong to the same cluster and group for certain. */
export function sameScope(a: StoreScope, b: StoreScope): boolean {
  return sameNames(a, b) && a.endpoints.some((endpoint) => b.endpoints.includes(endpoint));
}
