import { createHash } from 'node:crypto';
import { createReadStream, readFileSync } from 'node:fs';

/** What a job finds out about its file. */
export interface FileCount {
  sha256: string;
  bytes: number;
  lines: number;
  words: number;
}

const isSpace = (byte: number): boolean => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);

/** Counts like wc, piece by piece: the way of the workers. */
export async function countByPieces(path: string, signal: AbortSignal): Promise<FileCount> {
  const hash = createHash('sha256');
  const count = { bytes: 0, lines: 0, words: 0 };
  let inWord = false;
  for await (const piece of createReadStream(path, { signal, highWaterMark: 4_096 }) as AsyncIterable<Buffer>) {
    hash.update(piece);
    count.bytes += piece.length;
    for (const byte of piece) {
      if (byte === 0x0a) count.lines++;
      if (!isSpace(byte) && !inWord) count.words++;
      inWord = !isSpace(byte);
    }
  }
  return { sha256: hash.digest('hex'), ...count };
}

/** Counts the whole file at once: the direct way, to compare with. */
export function countDirectly(path: string): FileCount {
  const content = readFileSync(path);
  // Latin-1 keeps one character per byte, so that broken UTF-8 counts as it does above.
  const text = content.toString('latin1');
  return {
    sha256: createHash('sha256').update(content).digest('hex'),
    bytes: content.length,
    lines: text.split('\n').length - 1,
    words: text.split(/[\t\n\v\f\r ]+/).filter((word) => word !== '').length,
  };
}

/** Totals over files; the checksum is that of all checksums in the order of their paths. */
export interface Totals {
  files: number;
  bytes: number;
  lines: number;
  words: number;
  sha256: string;
}

/** Adds counts up, by path. */
export function addUp(counts: ReadonlyMap<string, FileCount>): Totals {
  const hash = createHash('sha256');
  const totals = { files: 0, bytes: 0, lines: 0, words: 0 };
  for (const [path, count] of [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(`${path} ${count.sha256}\n`);
    totals.files++;
    totals.bytes += count.bytes;
    totals.lines += count.lines;
    totals.words += count.words;
  }
  return { ...totals, sha256: hash.digest('hex') };
}
