import type { SettingFields, ValuesOf } from '../../shared/config/settings.js';
import type { ExitName } from './exit-codes.js';
import type { Output } from './output.js';
import type { Target } from './target.js';

/** A positional argument. */
export interface ArgumentSpec {
  name: string;
  required: boolean;
  /** Takes all that follow; only the last one may. */
  variadic?: boolean;
  description: string;
}

/** What a handler of a command that calls a server gets. */
export interface ClientCall<Options> {
  /** By position; undefined when an optional one was left out. */
  args: readonly (string | undefined)[];
  options: Options;
  target: Target;
  /** Longest time for one call, in milliseconds. */
  timeoutMs: number;
  output: Output;
}

/** Runs the command; says how it ended. Throws LtsError. */
export type ClientHandler<Options> = (call: ClientCall<Options>) => Promise<ExitName>;

/** One row of the table of commands that call a server. Help is made from it. */
export interface ClientCommand {
  /** The words: job submit. */
  path: readonly [string] | readonly [string, string];
  description: string;
  arguments: readonly ArgumentSpec[];
  options: SettingFields;
  examples: readonly string[];
  /** Default of --timeout, where it is another than that of every command. */
  timeout?: string;
  /** Which ends it may have beside those of every command (ok, failed, usage, refused, unavailable, timeout). */
  exits: readonly ExitName[];
  handler: () => Promise<ClientHandler<never>>;
}

/** Ties the options of a command to the handler that reads them. */
export function command<const F extends SettingFields>(
  row: Omit<ClientCommand, 'handler' | 'options'> & {
    options: F;
    handler: () => Promise<ClientHandler<ValuesOf<F>>>;
  },
): ClientCommand {
  return row;
}
