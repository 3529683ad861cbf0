/** Longest message of a result and longest log line, in bytes of UTF-8. */
export const maxTextBytes = 64 * 1024;

/** What a cut text ends in. */
export const cutMark = '… [truncated]';

/** A text that the contract takes. */
export interface CappedText {
  text: string;
  truncated: boolean;
}

// NUL is refused by the contract, a lone surrogate has no UTF-8.
// oxlint-disable-next-line no-control-regex -- NUL is what is looked for.
const suspicious = /[\0\ud800-\udfff]/;
// oxlint-disable-next-line no-control-regex -- NUL is what is looked for.
const bad = /\0|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** The text without what the contract refuses, cut to so many bytes. */
export function capText(raw: string, maxBytes: number = maxTextBytes): CappedText {
  const text = suspicious.test(raw) ? raw.replace(bad, '\ufffd') : raw;
  // A character of a string is at most three bytes.
  if (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes) return { text, truncated: false };
  const room = maxBytes - Buffer.byteLength(cutMark);
  const bytes = Buffer.from(text.slice(0, room));
  let end = Math.min(room, bytes.length);
  // Not inside a character: a following byte begins with the bits 10.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return { text: bytes.toString('utf8', 0, end) + cutMark, truncated: true };
}
