import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { LtsError, messageOf } from '../errors/lts-error.js';
import { didYouMean } from './nearest-name.js';
import { type AnySettings, envNameOf, flagOf, type SettingField, type Settings, type SettingFields, type ValuesOf } from './settings.js';

/** Variables that belong to the command itself and not to the settings of a service. */
export const commandVariables = ['LTS_CONFIG', 'LTS_TARGET', 'LTS_TIMEOUT', 'LTS_OUTPUT'];

/** Where settings come from; each overrules the ones after it: flags, env, file, default. */
export interface SettingSources {
  /** By key, camelCase; undefined counts as not given. */
  flags?: Readonly<Record<string, unknown>>;
  /** Default: the environment of this process. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Path of a YAML or JSON file; null: none is read. Default: LTS_CONFIG. */
  file?: string | null | undefined;
  /** Keys of other services, whose variables may stand in the same environment. */
  otherKeys?: readonly string[];
  /** For showing only: a required setting may be missing, and is then undefined. */
  allowMissing?: boolean;
}

/** Settings with where each came from. */
export interface LoadedSettings<F extends SettingFields = SettingFields> {
  values: ValuesOf<F>;
  /** "flag --listen", "env LTS_LISTEN", "file lts.yaml" or "default", by key. */
  sources: Record<string, string>;
}

interface Found {
  raw: unknown;
  source: string;
}

/** Reads, checks and types the settings. Every problem at once is told in one LtsError CONFIG_INVALID. */
export function loadSettings<F extends SettingFields>(settings: Settings<F>, sources: SettingSources = {}): LoadedSettings<F> {
  const problems: string[] = [];
  const found = collect(settings, sources, problems);
  const values: Record<string, unknown> = {};
  const origins: Record<string, string> = {};
  for (const [key, field] of Object.entries<SettingField>(settings.fields)) {
    const fallback = field.emptyWith !== undefined && found.has(field.emptyWith) ? [] : field.default;
    const given = found.get(key) ?? { raw: fallback, source: 'default' };
    origins[key] = given.source;
    if (given.raw === undefined) {
      if (field.required && sources.allowMissing !== true) problems.push(`${key}: is missing; give ${flagOf(key)} or ${envNameOf(key)}: ${field.schema.form}`);
      values[key] = undefined;
      continue;
    }
    const result = field.schema.schema.safeParse(given.raw);
    if (result.success) values[key] = result.data;
    else {
      problems.push(`${key}: ${whyNot(field, given)}`);
      Object.defineProperty(values, key, { get: () => { throw new Error(`${key} is bad`); } });
    }
  }
  runChecks(settings, values as ValuesOf<F>, problems);
  if (problems.length > 0) throw new LtsError('CONFIG_INVALID', problems.join('\n'));
  return { values: Object.freeze(values) as ValuesOf<F>, sources: origins };
}

/** What was given, by key, the strongest source last written. */
function collect(settings: AnySettings, sources: SettingSources, problems: string[]): Map<string, Found> {
  const keys = Object.keys(settings.fields);
  const env = sources.env ?? process.env;
  const found = new Map<string, Found>();
  const file = sources.file === undefined ? env['LTS_CONFIG'] || null : sources.file;
  if (file !== null) {
    for (const [key, raw] of Object.entries(readFile(file, problems))) {
      if (!keys.includes(key)) problems.push(`${key}: unknown key (file ${file})${didYouMean(key, keys)}`);
      else if (raw !== null && raw !== undefined) found.set(key, { raw, source: `file ${file}` });
    }
  }
  const names = new Map(keys.map((key) => [envNameOf(key), key]));
  const foreign = new Set([...commandVariables, ...(sources.otherKeys ?? []).map(envNameOf)]);
  for (const [name, raw] of Object.entries(env)) {
    // An empty variable counts as not set: this is what compose files make of a missing one.
    if (!name.startsWith('LTS_') || raw === undefined || raw === '') continue;
    const key = names.get(name);
    if (key !== undefined) found.set(key, { raw, source: `env ${name}` });
    else if (!foreign.has(name)) problems.push(`${name}: unknown variable (env)${didYouMean(name, [...names.keys()])}`);
  }
  for (const [key, raw] of Object.entries(sources.flags ?? {})) {
    if (raw === undefined) continue;
    if (keys.includes(key)) found.set(key, { raw, source: `flag ${flagOf(key)}` });
    else problems.push(`${flagOf(key)}: unknown flag${didYouMean(flagOf(key), keys.map(flagOf))}`);
  }
  return found;
}

function readFile(file: string, problems: string[]): Record<string, unknown> {
  try {
    const content: unknown = parse(readFileSync(file, 'utf8')) ?? {};
    if (typeof content === 'object' && !Array.isArray(content)) return content as Record<string, unknown>;
    problems.push(`config: ${file} does not hold key: value pairs`);
  } catch (error) {
    problems.push(`config: ${file} cannot be read: ${messageOf(error).split('\n')[0]}`);
  }
  return {};
}

/** Names the bad entry of a list rather than the whole list. */
function whyNot(field: SettingField, { raw, source }: Found): string {
  const { entry, form } = field.schema.firstBad?.(raw) ?? { entry: raw, form: field.schema.form };
  return `${shown(field, entry)} (${source}) is not ${form}`;
}

function shown(field: SettingField, raw: unknown): string {
  return field.schema.secret ? '(secret)' : JSON.stringify(raw);
}

/** A check that reads a bad value stumbles: then it has nothing to say. */
function runChecks<F extends SettingFields>(settings: Settings<F>, values: ValuesOf<F>, problems: string[]): void {
  const isWhole = problems.length === 0;
  for (const check of settings.checks) {
    try {
      check(values);
    } catch (error) {
      if (error instanceof LtsError) problems.push(error.message);
      else if (isWhole) throw error;
    }
  }
}
