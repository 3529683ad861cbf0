import { status } from '@grpc/grpc-js';
import { clientSettings } from '../../services/cli/client-settings.js';
import { clientCommands } from '../../services/cli/commands.js';
import { exitCodes } from '../../services/cli/exit-codes.js';
import { processSettings } from '../../services/cli/process-settings.js';
import { serviceCommands } from '../../services/cli/service-commands.js';
import { storeCommands } from '../../services/cli/store-commands.js';
import { describeSettings, type SettingDescription } from '../../shared/config/describe-settings.js';
import type { AnySettings } from '../../shared/config/settings.js';
import { reasons } from '../../shared/errors/reasons.js';

/** A Markdown table; bars within cells are escaped. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map((cell) => cell.replaceAll('|', String.raw`\|`)).join(' | ')} |`;
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
}

/** What the form says beyond the kind of the value: "at least 1s"; '' when it says nothing more. */
function limitOf({ form, isList }: SettingDescription): string {
  const left = form
    .replace(/^a (duration|size) such as .*?(7d|1GiB)/, '')
    .replace(/^(a whole number|true or false|one of .*|a text of 1 to 1,024 characters|host:port, such as .*)/, '')
    .replace(/^, /, '')
    .replace(/^at least 0(ms|B)$/, '');
  return isList ? '' : left;
}

function settingRow(setting: SettingDescription): string[] {
  const limit = limitOf(setting);
  const meaning = limit === '' ? setting.description : `${setting.description.replace(/\.$/, '')} (${limit}).`;
  const standard = setting.required ? 'required' : setting.default === undefined ? '' : `\`${setting.default}\``;
  return [`\`${setting.flag}${setting.isSwitch ? '' : ` <${setting.word}>`}\``, standard, meaning];
}

function settingsTable(settings: AnySettings): string {
  return table(['setting', 'default', 'meaning'], describeSettings(settings).map(settingRow));
}

function commandsTable(): string {
  const ours = clientCommands.map(({ path, arguments: args, description }) => {
    const shown = args.map(({ name, required, variadic }) => (required ? `<${name}>` : `[${name}${variadic === true ? '...' : ''}]`));
    return [`\`lts ${[...path, ...shown].join(' ')}\``, description];
  });
  const services = serviceCommands.map(({ name, description }) => [`\`lts ${name}\``, description]);
  const stores = storeCommands.map(({ name, description }) => [`\`lts store ${name}\``, description]);
  return table(['command', 'what it does'], [...services, ['`lts config [service]`', 'Prints the settings in force, with where each comes from.'], ...ours, ...stores]);
}

/** Every table of the README that the code knows better, by the name in its marks. */
export const tables: ReadonlyMap<string, () => string> = new Map([
  ...serviceCommands.map(({ name, settings }) => [`settings of ${name}`, () => settingsTable(settings)] as const),
  ['settings of all services', () => settingsTable(processSettings)],
  ['settings of the other commands', () => settingsTable(clientSettings)],
  ['commands', commandsTable],
  ['exit codes', () => table(['code', 'meaning'], Object.values(exitCodes).map(({ code, meaning }) => [String(code), meaning]))],
  ['errors', () => table(['`lts-reason`', 'gRPC status', 'what to do'], Object.entries(reasons).map(([reason, { code, action }]) => [`\`${reason}\``, status[code], action]))],
]);

const marked = /<!-- table: (.+?) -->\n[\s\S]*?<!-- end -->/g;

/** The names of the tables that the text has. */
export function tablesIn(text: string): string[] {
  return [...text.matchAll(marked)].map((match) => match[1] ?? '');
}

/** The text with each marked table as the code has it. A name that is not known stays as it is. */
export function withTables(text: string): string {
  return text.replaceAll(marked, (found, name: string) => {
    const make = tables.get(name);
    return make === undefined ? found : `<!-- table: ${name} -->\n${make()}\n<!-- end -->`;
  });
}
