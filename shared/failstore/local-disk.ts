import { statfsSync } from 'node:fs';
import { LtsError } from '../errors/lts-error.js';

/** statfs types of file systems whose locks cannot be trusted. */
const networkTypes = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xfe534d42, 'SMB2'],
  [0xff534d42, 'CIFS'],
  [0x5346414f, 'AFS'],
  [0x00c36400, 'Ceph'],
  [0x0bd00bd0, 'Lustre'],
  [0x47504653, 'GPFS'],
]);

/** Throws CONFIG_INVALID for a folder on a network file system. */
export function requireLocalDisk(folder: string): void {
  const network = networkTypes.get(statfsSync(folder).type >>> 0);
  if (network !== undefined) throw new LtsError('CONFIG_INVALID', `the FailStore folder ${folder} lies on ${network}; its locks do not hold there, choose a local disk`);
}
