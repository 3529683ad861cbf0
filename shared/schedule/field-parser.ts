import type { Refuse } from './cron-fields.js';
import { spreadBelow } from './spread.js';

/** One field of an expression, such as the hour. */
export interface FieldSpec {
  name: string;
  min: number;
  max: number;
  /** Upper-case; the first one is `min`. */
  names?: readonly string[];
  /** The values that H may take, where they are others than min to max. */
  spread?: { from: number; to: number };
}

/** What the dialects read differently. */
export interface FieldGrammar {
  /** 22-2 goes past the end: 22, 23, 0, 1, 2. */
  wraps: boolean;
  /** 5/15 is 5 to the end in steps of 15, and /15 the same as a star with it. */
  openSteps: boolean;
  /** A step may be as long as the field, as in a minute of every 60. */
  fullSteps: boolean;
  /** JAN-JUN/2 and MON-5 are read as they look. */
  mixesNames: boolean;
}

export interface FieldValues {
  values: Set<number>;
  /** A star or a step is in it, or it has every value: it follows real time through changes of the clock. */
  interval: boolean;
  /** It begins with a star. */
  star: boolean;
}

export interface FieldParser {
  spec: FieldSpec;
  grammar: FieldGrammar;
  spread: string;
  refuse: Refuse;
}

export const monthNames = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'] as const;
export const dayNames = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'] as const;

const itemForm = /^(?:(?<star>\*)|(?<hash>H)(?:\((?<least>\w+)-(?<most>\w+)\))?|(?<first>\w+)(?:-(?<last>\w+))?)?(?:\/(?<step>\d+))?$/;

/** Reads a list of values, ranges and steps, in upper case. */
export function parseField(parser: FieldParser, text: string): FieldValues {
  const { spec } = parser;
  const values = new Set<number>();
  let interval = false;
  for (const item of text.split(',')) {
    const parsed = parseItem(parser, item);
    for (const value of parsed.values) values.add(value);
    interval ||= parsed.interval;
  }
  return { values, interval: interval || values.size === spec.max - spec.min + 1, star: text.startsWith('*') };
}

function parseItem(parser: FieldParser, item: string): { values: number[]; interval: boolean } {
  const { spec, grammar, refuse } = parser;
  const found = itemForm.exec(item)?.groups;
  if (item === '' || found === undefined) throw refuse(item, `the ${spec.name} takes values ${spec.min}-${spec.max}, lists, ranges and steps such as ${spec.min}-${spec.max}/2`);
  const { star, hash, first, last } = found;
  const step = found['step'] === undefined ? undefined : parseStep(parser, item, Number(found['step']), last === undefined);
  if (hash !== undefined) return parseSpread(parser, item, [found['least'], found['most']], step);
  if (star !== undefined || first === undefined) {
    if (star === undefined && !grammar.openSteps) throw refuse(item, `write */${step ?? 1}`);
    return { values: range(spec.min, spec.max, step ?? 1), interval: true };
  }
  const from = parseValue(parser, item, first);
  if (last === undefined && step === undefined) return { values: [from], interval: false };
  if (last === undefined && !grammar.openSteps) throw refuse(item, `write ${first}-${spec.max}/${step ?? 1}`);
  const to = last === undefined ? spec.max : parseValue(parser, item, last);
  if (!grammar.mixesNames && (isName(first) !== isName(last ?? first) || (step !== undefined && isName(first)))) throw refuse(item, `Quartz does not mix names with numbers and ignores the step of a name: write ${from}-${to}/${step ?? 1}`);
  return { values: rangeOf(parser, item, from, to, step ?? 1), interval: step !== undefined };
}

function parseStep({ spec, grammar, refuse }: FieldParser, item: string, step: number, ofField: boolean): number {
  if (step < 1) throw refuse(item, 'a step is 1 or more');
  const size = spec.max - spec.min + 1;
  if (ofField && step > (grammar.fullSteps ? size : spec.max)) throw refuse(item, `the ${spec.name} has ${size} values, so a step of ${step} does not mean every ${step}; for a longer interval use @every`);
  return step;
}

function parseValue({ spec, refuse }: FieldParser, item: string, text: string): number {
  const named = spec.names?.indexOf(text) ?? -1;
  if (named >= 0) return spec.min + named;
  const value = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= spec.min && value <= spec.max) return value;
  throw refuse(item, `the ${spec.name} is ${spec.min} to ${spec.max}${spec.names === undefined ? '' : `, or ${spec.names[0]} to ${spec.names.at(-1)}`}`);
}

function parseSpread(parser: FieldParser, item: string, [least, most]: [string | undefined, string | undefined], step: number | undefined): { values: number[]; interval: boolean } {
  const { spec, refuse, spread } = parser;
  const from = least === undefined ? (spec.spread?.from ?? spec.min) : parseValue(parser, item, least);
  const to = most === undefined ? (spec.spread?.to ?? spec.max) : parseValue(parser, item, most);
  if (from > to) throw refuse(item, 'H takes a range from the smaller to the greater value');
  const size = Math.min(step ?? Infinity, to - from + 1);
  const chosen = from + spreadBelow(size, spread, spec.name);
  return step === undefined ? { values: [chosen], interval: false } : { values: range(chosen, to, step), interval: true };
}

function rangeOf({ spec, grammar, refuse }: FieldParser, item: string, from: number, to: number, step: number): number[] {
  if (from <= to) return range(from, to, step);
  // FRI-SUN, where Sunday is 0 and 7.
  if (to === 0 && spec.max === 7) return range(from, spec.max, step);
  if (!grammar.wraps) throw refuse(item, `a range goes from the smaller to the greater value: write ${from}-${spec.max},${spec.min}-${to}`);
  const size = spec.max - spec.min + 1;
  return range(from, to + size, step).map((value) => (value > spec.max ? value - size : value));
}

function range(from: number, to: number, step: number): number[] {
  const values: number[] = [];
  for (let value = from; value <= to; value += step) values.push(value);
  return values;
}

function isName(text: string): boolean {
  return /^[A-Z]/.test(text);
}
