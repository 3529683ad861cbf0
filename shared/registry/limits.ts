import { LtsError } from '../errors/lts-error.js';

/** Largest document, in bytes; well below what a ZooKeeper server takes (1 MiB with its frame). */
export const maxDocumentBytes = 512 * 1024;
/** Most members of one kind that are read; more are ignored with a warning. */
export const maxMembers = 20_000;
/** Most documents that one registry watches: each costs the server one watch per session. */
export const maxDocumentWatches = 10_000;

const name = /^[A-Za-z0-9._-]{1,64}$/;

function isName(text: string): boolean {
  return name.test(text) && text !== '.' && text !== '..';
}

/** Returns the text when it can be one name in a path; INVALID_ARGUMENT otherwise. */
export function checkName(what: string, text: string): string {
  if (!isName(text)) throw new LtsError('INVALID_ARGUMENT', `${what} ${JSON.stringify(text.slice(0, 100))} is no name: use 1 to 64 letters, digits, ".", "_" or "-"`);
  return text;
}

/** Returns the id when it is a text of 1 to 256 characters without control characters; INVALID_ARGUMENT otherwise. */
export function checkCandidate(id: string): string {
  if (!isCandidate(id)) throw new LtsError('INVALID_ARGUMENT', `candidate id ${JSON.stringify(id.slice(0, 100))} must have 1 to 256 characters and no control characters`);
  return id;
}

/** Whether the text may be a candidate's id. */
export function isCandidate(id: string): boolean {
  return /^\P{Cc}{1,256}$/u.test(id);
}

/** Returns the path when it is made of up to 8 names parted by "/"; INVALID_ARGUMENT otherwise. */
export function checkDocumentPath(path: string): string {
  const parts = path.split('/');
  if (parts.length > 8) throw new LtsError('INVALID_ARGUMENT', `document path ${JSON.stringify(path.slice(0, 100))} has ${parts.length} parts: at most 8`);
  for (const part of parts) checkName('document path part', part);
  return path;
}

/** INVALID_ARGUMENT when the bytes are too many for a document. */
export function checkDocumentSize(path: string, data: Uint8Array): void {
  if (data.byteLength > maxDocumentBytes)
    throw new LtsError('INVALID_ARGUMENT', `document ${path} would have ${data.byteLength} bytes: at most ${maxDocumentBytes}`);
}

/** INVALID_ARGUMENT for a version that no document ever has. */
export function checkExpected(path: string, expected: number | 'create'): void {
  if (expected !== 'create' && (!Number.isInteger(expected) || expected < 1))
    throw new LtsError('INVALID_ARGUMENT', `document ${path} cannot have version ${expected}: versions begin at 1`);
}
