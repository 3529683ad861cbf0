import { LtsError } from '../errors/lts-error.js';

/*
 * Protobuf coerces silently ("5" becomes 5, 1.5 becomes 1, an unknown field vanishes): values are checked before they
 * are serialised, against the limits that the contract states.
 */

const longestMs = 366 * 86_400_000;
const maxPayloadBytes = 1024 * 1024;
/** 9999-12-31T23:59:59.999Z. Beyond lie times that no Date can show, and what stores keep for "not yet". */
const lastTime = 253_402_300_799_999;

export type Values = Record<string, unknown>;
export type FieldCheck = (value: unknown, field: string) => unknown;

export function refuse(field: string, value: unknown, rule: string): never {
  throw new LtsError('INVALID_ARGUMENT', `${field} is ${show(value)}; ${rule}`);
}

function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 100 ? `${value.slice(0, 100)}…` : value);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'function' || typeof value === 'symbol') return `a ${typeof value}`;
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value !== 'object' || value === null) return String(value);
  const kind = value.constructor?.name ?? 'Object';
  return kind === 'Object' ? 'an object' : `a ${kind}`;
}

export function whole(least: number, most: number, unit: string): FieldCheck {
  return (value, field) => {
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most) return value;
    return refuse(field, value, `give a whole number from ${least} to ${most}${unit}`);
  };
}

export const milliseconds = whole(0, longestMs, ' (milliseconds)');

export function flag(value: unknown, field: string): unknown {
  return typeof value === 'boolean' ? value : refuse(field, value, 'give true or false');
}

export function formed(form: RegExp, rule: string, emptyAllowed: boolean): FieldCheck {
  return (value, field) => (typeof value === 'string' && (form.test(value) || (emptyAllowed && value === '')) ? value : refuse(field, value, rule));
}

export function shortText(value: unknown, field: string): unknown {
  if (typeof value === 'string' && value.length <= 128 && !value.includes('\0')) return value;
  return refuse(field, value, 'give a text of at most 128 characters without NUL');
}

export function payload(value: unknown, field: string): unknown {
  const bytes = typeof value === 'string' ? Buffer.from(value, 'utf8') : value;
  if (!(bytes instanceof Uint8Array)) return refuse(field, value, 'give a Uint8Array, a Buffer or a text; make JSON with JSON.stringify');
  if (bytes.length > maxPayloadBytes) refuse(field, `${bytes.length} bytes long`, 'at most 1 MiB; store it elsewhere and submit where it lies');
  return bytes;
}

export function params(value: unknown, field: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return refuse(field, value, 'give an object with texts as values');
  const entries = Object.entries(value);
  if (entries.length > 64) refuse(field, `${entries.length} entries`, 'at most 64; put more into the payload');
  for (const [name, text] of entries) {
    if (Buffer.byteLength(name) > 128 || name.includes('\0')) refuse(`the ${field} key`, name, 'at most 128 bytes without NUL');
    if (typeof text !== 'string') return refuse(`${field}.${name}`, text, 'give a text');
    if (Buffer.byteLength(text) > 8_192 || text.includes('\0')) refuse(`${field}.${name}`, text, 'at most 8,192 bytes without NUL');
  }
  return value;
}

export function time(value: unknown, field: string): unknown {
  const ms = value instanceof Date ? value.getTime() : value;
  if (typeof ms === 'number' && Number.isSafeInteger(ms) && ms >= 0 && ms <= lastTime) return ms;
  return refuse(field, value, `give milliseconds since 1970 UTC, or a Date, at most ${lastTime} (the end of the year 9999)`);
}

/** Names of the contract with or without their prefix; numbers are for other languages. */
export function oneOf(names: readonly string[], prefix: string): FieldCheck {
  const full = new Map([...names, 'UNSPECIFIED'].flatMap((name) => [[name, prefix + name], [prefix + name, prefix + name]] as const));
  return (value, field) => (typeof value === 'string' ? full.get(value) : undefined) ?? refuse(field, value, `give one of ${names.join(', ')}`);
}

export function delays(value: unknown, field: string): unknown {
  if (!Array.isArray(value) || value.length > 100) return refuse(field, value, 'give a list of at most 100 delays');
  value.forEach((delay, index) => milliseconds(delay, `${field}[${index}]`));
  return value;
}

export function checkFields(values: Values, checks: Record<string, FieldCheck>, prefix: string): Values {
  const checked: Values = {};
  for (const name in values) {
    const value = values[name];
    if (value === undefined || value === null) continue;
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    if (check === undefined) return refuse(prefix + name, value, `there is no such field; there are ${Object.keys(checks).join(', ')}`);
    checked[name] = check(value, prefix + name);
  }
  return checked;
}
