/** All texts of one answer together stay below this: a message may have 4 MiB. */
const answerBytes = 2 * 1024 * 1024;
const mark = '… [truncated]';

/** Bytes that each of so many texts may have in one answer that has no pages. */
export function textLimit(texts: number): number {
  return Math.max(Math.floor(answerBytes / Math.max(texts, 1)), 64);
}

/** The text, cut and marked when it is longer than so many bytes. */
export function fitText(text: string, mostBytes: number): string {
  if (Buffer.byteLength(text) <= mostBytes) return text;
  const kept = Buffer.from(text).subarray(0, mostBytes - Buffer.byteLength(mark));
  return `${kept.toString('utf8').replace(/\uFFFD+$/, '')}${mark}`;
}
