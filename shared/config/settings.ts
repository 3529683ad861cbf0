import type { SettingKind } from './kinds.js';

/** One setting of a service. Its key is camelCase; --kebab-case and LTS_UPPER_SNAKE follow from it. */
export interface SettingField {
  schema: SettingKind<unknown>;
  /** As a user would write it. Without one the value may be undefined, unless `required`. */
  default?: string | number | boolean | readonly string[];
  /** A list that has no entries by default, instead of `default`, when the setting of this key is given. */
  emptyWith?: string;
  /** There is no default: the user must give it. */
  required?: boolean;
  /** For help and tables: one sentence. */
  description: string;
}

/** The settings of one service by key. */
export type SettingFields = Record<string, SettingField>;

type ValueOf<F extends SettingField> = F extends { schema: SettingKind<infer T> }
  ? F extends { default: string | number | boolean | readonly string[] } | { required: true }
    ? T
    : T | undefined
  : never;

/** The values of settings, as services get them. */
export type ValuesOf<F extends SettingFields> = { -readonly [K in keyof F]: ValueOf<F[K]> };

/** What defineSettings gives. */
export interface Settings<F extends SettingFields = SettingFields> {
  readonly fields: F;
  /** Each throws an LtsError when values do not go together. */
  readonly checks: readonly ((values: ValuesOf<F>) => void)[];
}

/** The type of the values: `type Config = SettingsOf<typeof settings>`. */
export type SettingsOf<S> = S extends { readonly fields: infer F extends SettingFields } ? ValuesOf<F> : never;

/** Settings of any service, for code that only lists or prints them. */
export interface AnySettings {
  readonly fields: SettingFields;
  readonly checks: readonly ((values: never) => void)[];
}

/** The flag of a key: workThreads is --work-threads. */
export function flagOf(key: string): string {
  return `--${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** The environment variable of a key: workThreads is LTS_WORK_THREADS. */
export function envNameOf(key: string): string {
  return `LTS_${key.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/**
 * The settings of one service. `checks` look at all values together (see requireInsecure). A default that its own
 * kind refuses is a fault of the program and throws at once.
 */
export function defineSettings<const F extends SettingFields>(fields: F, ...checks: readonly ((values: ValuesOf<F>) => void)[]): Settings<F> {
  for (const [key, field] of Object.entries(fields)) {
    if (!/^[a-z][a-zA-Z0-9]*$/.test(key)) throw new Error(`the key of a setting is camelCase, not ${key}`);
    if (field.default !== undefined && !field.schema.schema.safeParse(field.default).success) {
      throw new Error(`the default of ${key}, ${String(field.default)}, is not ${field.schema.form}`);
    }
  }
  return { fields, checks };
}
