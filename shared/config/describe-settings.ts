import type { LoadedSettings } from './load-settings.js';
import { type AnySettings, envNameOf, flagOf, type SettingField } from './settings.js';

/** What help and tables say about one setting. */
export interface SettingDescription {
  key: string;
  flag: string;
  env: string;
  form: string;
  /** One word for the value in help. */
  word: string;
  /** Undefined: there is none. */
  default: string | undefined;
  required: boolean;
  description: string;
  isSwitch: boolean;
  isList: boolean;
}

/** One setting as it is in force. */
export interface EffectiveSetting {
  key: string;
  /** Secrets are masked; '' when not set. */
  value: string;
  source: string;
}

/** All settings in the order of their definition. */
export function describeSettings(settings: AnySettings): SettingDescription[] {
  return Object.entries(settings.fields).map(([key, field]) => ({
    key,
    flag: flagOf(key),
    env: envNameOf(key),
    form: field.schema.form,
    word: field.schema.word,
    default: field.default === undefined ? undefined : String(field.default),
    required: field.required ?? false,
    description: field.description,
    isSwitch: field.schema.isSwitch ?? false,
    isList: field.schema.isList ?? false,
  }));
}

/** The values in force with their sources, secrets masked. */
export function effectiveSettings(settings: AnySettings, loaded: { values: object; sources: LoadedSettings['sources'] }): EffectiveSetting[] {
  const values = loaded.values as Record<string, unknown>;
  return Object.entries<SettingField>(settings.fields).map(([key, field]) => {
    const value = values[key];
    const text = value === undefined ? '' : field.schema.secret ? '********' : field.schema.format(value);
    const source = value === undefined && field.required === true ? 'required, missing' : (loaded.sources[key] ?? 'default');
    return { key, value: text, source };
  });
}
