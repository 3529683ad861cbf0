/**
 * A number below `size` that follows from the two texts alone, so that it is the same after every restart: FNV-1a
 * (32 bit) over their UTF-8 bytes, with its bits mixed. `part` makes the fields of one expression differ. A spread of
 * '' gives 0.
 */
export function spreadBelow(size: number, spread: string, part: string): number {
  if (spread === '') return 0;
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(`${part} ${spread}`, 'utf8')) hash = Math.imul(hash ^ byte, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) % size;
}

/** Whether a cron expression looks at what it is spread by: only H and @every do. */
export function isSpread(expression: string): boolean {
  return /(^|[ \t,])h|@every/i.test(expression);
}
