import { z } from 'zod';
import { formatDuration, parseDuration } from '../time/duration.js';

/** How the values of a setting are read, checked and shown. */
export interface SettingKind<T> {
  /** From what a flag, the environment or a file gives to the value. */
  schema: z.ZodType<T, unknown>;
  /** The allowed form, for messages and tables. */
  form: string;
  /** One word for the value in help: --listen <host:port>. */
  word: string;
  /** The text that reads back to the value. */
  format(value: T): string;
  /** Never shown. */
  secret?: boolean;
  /** Given as a flag without a value. */
  isSwitch?: boolean;
  /** Of a list: the first entry that is not as it should be, with the form of an entry. */
  firstBad?(raw: unknown): { entry: unknown; form: string } | undefined;
  /** A flag may be given several times. */
  isList?: boolean;
}

/** Inclusive limits of a number; each may be left out. */
export interface Range {
  min?: number;
  max?: number;
}

/** Where a server listens or is found. */
export interface Address {
  host: string;
  port: number;
}

const mebibyte = 1024 * 1024;
const sizeUnits = { B: 1, KiB: 1024, MiB: mebibyte, GiB: 1024 * mebibyte } as const;

/** Text in, value out; undefined from `read` means that the text has not the form. */
function fromText<T>(word: string, form: string, read: (text: string) => T | undefined, format: (value: T) => string): SettingKind<T> {
  const schema = z.union([z.string(), z.number(), z.boolean()]).transform((raw, context): T => {
    const value = read(String(raw).trim());
    if (value !== undefined) return value;
    context.addIssue({ code: 'custom', message: form });
    return z.NEVER;
  });
  return { schema, form, word, format };
}

function inRange(value: number | undefined, { min = -Infinity, max = Infinity }: Range): number | undefined {
  return value !== undefined && value >= min && value <= max ? value : undefined;
}

function rangeForm(what: string, { min, max }: Range, show: (value: number) => string): string {
  if (min !== undefined && max !== undefined) return `${what}, ${show(min)} to ${show(max)}`;
  if (min !== undefined) return `${what}, at least ${show(min)}`;
  return max === undefined ? what : `${what}, at most ${show(max)}`;
}

/** A text of 1 to `max` (1,024) characters; `pattern` must match all of it and is described by `form`. */
export function text(options: { pattern?: RegExp; form?: string; word?: string; max?: number } = {}): SettingKind<string> {
  const { pattern, word = 'text', max = 1_024, form = `a text of 1 to ${max.toLocaleString('en-US')} characters` } = options;
  const read = (value: string): string | undefined => (value !== '' && value.length <= max && (pattern?.test(value) ?? true) ? value : undefined);
  return fromText(word, form, read, (value) => value);
}

/** A text that is never shown. */
export function secret(options: Parameters<typeof text>[0] = {}): SettingKind<string> {
  return { ...text(options), secret: true };
}

/** One of the listed words. */
export function choice<const T extends string>(words: readonly T[]): SettingKind<T> {
  return fromText(words.join('|'), `one of ${words.join(', ')}`, (value) => words.find((word) => word === value), (value) => value);
}

/** true or false; as a flag it needs no value. */
export function bool(): SettingKind<boolean> {
  const read = (value: string): boolean | undefined => (value === 'true' || value === '1' ? true : value === 'false' || value === '0' ? false : undefined);
  return { ...fromText('true|false', 'true or false', read, String), isSwitch: true };
}

/** A whole number. */
export function int(range: Range = {}): SettingKind<number> {
  const read = (value: string): number | undefined => (/^-?\d{1,15}$/.test(value) ? inRange(Number(value), range) : undefined);
  return fromText('number', rangeForm('a whole number', range, (value) => value.toLocaleString('en-US')), read, String);
}

/** A number that may have decimals. */
export function decimal(range: Range = {}): SettingKind<number> {
  const read = (value: string): number | undefined => (/^-?\d{1,15}(\.\d{1,15})?$/.test(value) ? inRange(Number(value), range) : undefined);
  return fromText('number', rangeForm('a number', range, (value) => value.toLocaleString('en-US')), read, String);
}

/** The value, or the word none. */
export function orNone<T>(kind: SettingKind<T>): SettingKind<T | 'none'> {
  return {
    schema: z.union([z.literal('none'), kind.schema]),
    form: `${kind.form}, or none`,
    word: `${kind.word}|none`,
    format: (value) => (value === 'none' ? 'none' : kind.format(value as T)),
  };
}

/** "250ms", "10s", "5m", "2h", "7d"; the value and the limits are milliseconds. */
export function duration(range: Range = {}): SettingKind<number> {
  const form = rangeForm('a duration such as 250ms, 10s, 5m, 2h, 7d', range, formatDuration);
  return fromText('duration', form, (value) => inRange(parseDuration(value), range), formatDuration);
}

function parseSize(value: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(B|KiB|MiB|GiB)$/.exec(value);
  return match === null ? undefined : Math.round(Number(match[1]) * sizeUnits[match[2] as keyof typeof sizeUnits]);
}

/** The shortest exact text that reads back to so many bytes: 4194304 is "4MiB". */
export function formatSize(bytes: number): string {
  for (const unit of ['GiB', 'MiB', 'KiB'] as const) if (bytes >= sizeUnits[unit] && bytes % sizeUnits[unit] === 0) return `${bytes / sizeUnits[unit]}${unit}`;
  return `${bytes}B`;
}

/** "512B", "64KiB", "4MiB", "1GiB"; the value and the limits are bytes. */
export function size(range: Range = {}): SettingKind<number> {
  const form = rangeForm('a size such as 512B, 64KiB, 4MiB, 1GiB', range, formatSize);
  return fromText('size', form, (value) => inRange(parseSize(value), range), formatSize);
}

/** The address of host:port, also [::1]:port; undefined for anything else. */
export function parseAddress(value: string): Address | undefined {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]{1,253})):(\d{1,5})$/.exec(value);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  return host === undefined || port > 65_535 ? undefined : { host, port };
}

/** host:port, with brackets around an IPv6 host. */
export function formatAddress({ host, port }: Address): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** host:port. Port 0: the system chooses a free one. */
export function address(): SettingKind<Address> {
  return fromText('host:port', 'host:port, such as 127.0.0.1:7401 or [::1]:7401', parseAddress, formatAddress);
}

/** Several values: commas between them (unless their texts may hold some), a list in a file, or the flag several times. */
export function list<T>(item: SettingKind<T>, options: { commas?: boolean } = {}): SettingKind<T[]> {
  const { commas = true } = options;
  const split = (raw: unknown): unknown[] => {
    if (Array.isArray(raw)) return raw.flatMap(split);
    return typeof raw === 'string' && commas ? raw.split(',').filter((part) => part.trim() !== '') : [raw];
  };
  return {
    schema: z.preprocess(split, z.array(item.schema)),
    form: `${commas ? 'a list, comma between its entries' : 'a list'}; each ${item.form}`,
    word: `${item.word}${commas ? ',…' : ''}`,
    format: (values) => values.map((value) => item.format(value)).join(','),
    firstBad: (raw) => {
      const entry = split(raw).find((part) => !item.schema.safeParse(part).success);
      return entry === undefined ? undefined : { entry, form: item.form };
    },
    isList: true,
  };
}
