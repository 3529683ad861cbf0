import { randomFillSync } from 'node:crypto';

const digits = Buffer.from('0123456789abcdef');
const poolBytes = 8 * 512;

/**
 * A maker of UUIDv7 (RFC 9562): 48 bits of milliseconds, then a 12-bit counter within the millisecond (method 1 of
 * section 6.2, so ids of one maker sort in the order they were made), then 62 random bits, which `fill` gives.
 */
export function idMaker(fill: (bytes: Buffer) => void): (nowMs?: number) => string {
  // The id is written into one buffer, digit by digit: the cheapest way to a text, and every job has one.
  const text = Buffer.from('00000000-0000-7000-8000-000000000000');
  const pool = Buffer.alloc(poolBytes);
  let used = poolBytes;
  let lastMs = 0;
  let counter = 0;
  const write = (at: number, byte: number): void => {
    text[at] = digits[byte >> 4] as number;
    text[at + 1] = digits[byte & 15] as number;
  };
  const next = (ms: number): void => {
    lastMs = ms;
    counter = 0;
    const time = ms.toString(16).padStart(12, '0');
    text.write(time.slice(0, 8), 0, 'latin1');
    text.write(time.slice(8), 9, 'latin1');
  };
  return (nowMs = Date.now()) => {
    if (nowMs > lastMs) next(nowMs);
    else if (++counter > 0xfff) next(lastMs + 1);
    if (used === poolBytes) {
      fill(pool);
      used = 0;
    }
    text[15] = digits[counter >> 8] as number;
    write(16, counter & 0xff);
    write(19, ((pool[used++] as number) & 0x3f) | 0x80);
    write(21, pool[used++] as number);
    for (let at = 24; at < 36; at += 2) write(at, pool[used++] as number);
    return text.toString('latin1');
  };
}

/** A UUIDv7 of this process. */
export const newId: (nowMs?: number) => string = idMaker(randomFillSync);

const uuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Whether the text is a UUIDv7 in its canonical lower-case form. */
export function isId(text: string): boolean {
  return uuidV7.test(text);
}

/** When the id was made, in milliseconds since 1970 UTC, by its maker's clock. */
export function timeOfId(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

/** The 16 bytes of the id. */
export function idToBytes(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex');
}

/** The id of 16 bytes. */
export function idFromBytes(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, 16).toString('hex');
  return `${text.slice(0, 8)}-${text.slice(8, 12)}-${text.slice(12, 16)}-${text.slice(16, 20)}-${text.slice(20)}`;
}
