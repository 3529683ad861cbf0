import { randomFillSync } from 'node:crypto';

const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/**
 * A maker of UUIDv7 (RFC 9562): 48 bits of milliseconds, then a 12-bit counter within the millisecond (method 1 of
 * section 6.2, so ids of one maker sort in the order they were made), then 62 random bits, which `fill` gives.
 */
export function idMaker(fill: (bytes: Buffer) => void): (nowMs?: number) => string {
  const pool = Buffer.alloc(16 * 256);
  let used = pool.length;
  let lastMs = 0;
  let counter = 0;
  return (nowMs = Date.now()) => {
    if (nowMs > lastMs) {
      lastMs = nowMs;
      counter = 0;
    } else if (++counter > 0xfff) {
      lastMs++;
      counter = 0;
    }
    if (used >= pool.length) {
      fill(pool);
      used = 0;
    }
    const at = used;
    used += 8;
    const time = lastMs.toString(16).padStart(12, '0');
    const h = (i: number): string => hex[pool[at + i] ?? 0] as string;
    const variant = hex[((pool[at] ?? 0) & 0x3f) | 0x80] as string;
    const count = counter.toString(16).padStart(3, '0');
    return `${time.slice(0, 8)}-${time.slice(8)}-7${count}-${variant}${h(1)}-${h(2)}${h(3)}${h(4)}${h(5)}${h(6)}${h(7)}`;
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
