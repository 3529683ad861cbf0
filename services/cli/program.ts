import { Argument, Command, Option } from 'commander';
import { describeSettings } from '../../shared/config/describe-settings.js';
import { loadSettings } from '../../shared/config/load-settings.js';
import { type AnySettings, defineSettings, type SettingFields, type Settings } from '../../shared/config/settings.js';
import { LtsError } from '../../shared/errors/lts-error.js';
import type { ClientCommand } from './command.js';
import { clientSettings } from './client-settings.js';
import { exitCodes, type ExitName, exitOfError } from './exit-codes.js';
import { Output } from './output.js';
import { processSettings } from './process-settings.js';
import type { ServiceCommand } from './service-command.js';
import { outputSettings, type StoreCommand, storeSettings, trackerSettings } from './store-commands.js';
import { UsageError } from './usage-error.js';

/** What the program is made of. */
export interface ProgramParts {
  version: string;
  clientCommands: readonly ClientCommand[];
  nouns: Readonly<Record<string, string>>;
  services: readonly ServiceCommand[];
  storeCommands: readonly StoreCommand[];
}

/** The program `lts`, made from the tables. `end` is told how a command ended; services that run do not call it. */
export function createProgram({ version, clientCommands, nouns, services, storeCommands }: ProgramParts, end: (code: number) => void): Command {
  const program = new Command('lts');
  program
    .description('LTS over gRPC: a distributed job scheduler.')
    .version(version)
    .showHelpAfterError('(see --help)')
    .exitOverride()
    .enablePositionalOptions();
  const otherKeys = [...services.flatMap((service) => Object.keys(service.settings.fields)), ...Object.keys(processSettings.fields)];
  for (const service of services) addService(program, service, otherKeys);
  addConfig(program, services, otherKeys, end);
  const parents = new Map<string, Command>();
  for (const row of clientCommands) addClientCommand(parentOf(program, row, nouns, parents), row, otherKeys, end);
  const store = program.command('store').description(nouns['store'] ?? '');
  for (const row of storeCommands) addStoreCommand(store, row, otherKeys, end);
  program.addHelpText('after', () => `\nExit codes:\n${exitTable(Object.keys(exitCodes) as ExitName[])}`);
  return program;
}

function parentOf(program: Command, { path }: ClientCommand, nouns: ProgramParts['nouns'], parents: Map<string, Command>): Command {
  const [noun, verb] = path;
  if (verb === undefined) return program;
  const known = parents.get(noun);
  if (known !== undefined) return known;
  const parent = program.command(noun).description(nouns[noun] ?? '');
  parents.set(noun, parent);
  return parent;
}

function addClientCommand(parent: Command, row: ClientCommand, otherKeys: readonly string[], end: (code: number) => void): void {
  const made = parent.command(row.path.at(-1) ?? row.path[0]).description(row.description);
  for (const spec of row.arguments) {
    const name = `${spec.name}${spec.variadic === true ? '...' : ''}`;
    made.addArgument(new Argument(spec.required ? `<${name}>` : `[${name}]`, spec.description));
  }
  addOptions(made, { fields: row.options, checks: [] });
  addOptions(made, commonOf(row), { short: { output: '-o' } });
  const ends: ExitName[] = ['ok', 'failed', 'usage', ...row.exits, 'refused', 'unavailable', 'timeout'];
  made.addHelpText('after', `${examplesText(row.examples)}\nExit codes:\n${exitTable(ends)}`);
  made.action(async () => end(exitCodes[await runClient(row, made, otherKeys)].code));
}

/** What every command that calls a server takes, with this one's default of the time. */
function commonOf({ timeout = clientSettings.fields.timeout.default }: ClientCommand): typeof clientSettings {
  const { fields, checks } = clientSettings;
  return { fields: { ...fields, timeout: { ...fields.timeout, default: timeout } }, checks } as typeof clientSettings;
}

interface OptionForm {
  /** One-letter flags by key. */
  short?: Readonly<Record<string, string>>;
  /** Whether a switch may have a value (--reflection false); not where arguments may follow it. */
  switchValues?: boolean;
}

/** The options of a command from its settings: flags, the word for the value, defaults. */
function addOptions(made: Command, settings: AnySettings, { short = {}, switchValues = false }: OptionForm = {}): void {
  for (const setting of describeSettings(settings)) {
    const value = !setting.isSwitch ? ` <${setting.word}>` : switchValues ? ` [${setting.word}]` : '';
    const flags = `${short[setting.key] === undefined ? '' : `${short[setting.key]}, `}${setting.flag}${value}`;
    const hasDefault = setting.default !== undefined && setting.default !== '' && !setting.isSwitch;
    const option = new Option(flags, `${setting.description}${hasDefault ? ` (default ${setting.default})` : ''}`);
    if (setting.isList) option.argParser<string[]>((value, before) => [...(before ?? []), value]);
    made.addOption(option);
  }
}

/** The flags that were given for these settings, by key. */
function flagsFor(settings: AnySettings, given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.keys(settings.fields).map((key) => [key, given[key]]));
}

async function runClient(row: ClientCommand, made: Command, otherKeys: readonly string[]): Promise<ExitName> {
  const given = made.opts<Record<string, unknown>>();
  const own: Settings<SettingFields> = defineSettings(row.options);
  const common = asUsage(() => loadSettings(commonOf(row), { flags: flagsFor(clientSettings, given), file: null, otherKeys })).values;
  const options = asUsage(() => loadSettings(own, { flags: flagsFor(own, given), env: {}, file: null })).values;
  const { Target } = await import('./target.js');
  const target = new Target(common.target, common.timeout);
  const args = made.processedArgs.flat() as (string | undefined)[];
  try {
    return await endOf(async () => (await row.handler())({ args, options: options as never, target, timeoutMs: common.timeout, output: new Output(common.output) }));
  } finally {
    target.close();
  }
}

function addStoreCommand(parent: Command, row: StoreCommand, otherKeys: readonly string[], end: (code: number) => void): void {
  const made = parent.command(row.name).description(row.description);
  made.option('--config <file>', 'Settings of the JobTracker from a YAML or JSON file; LTS_CONFIG.');
  const own = { fields: { ...row.options, ...outputSettings.fields }, checks: [] };
  addOptions(made, own, { short: { output: '-o' } });
  addOptions(made, storeSettings, { switchValues: true });
  made.addHelpText('after', () => `${examplesText(row.examples)}\nExit codes:\n${exitTable(['ok', 'failed', 'usage', 'notFound', 'refused', 'unavailable', 'timeout'])}`);
  made.action(async () => {
    const given = made.opts<Record<string, unknown>>();
    const options = asUsage(() => loadSettings(own as Settings, { flags: flagsFor(own, given), env: {}, file: null })).values;
    const config = asUsage(() => loadSettings(trackerSettings, { flags: flagsFor(storeSettings, given), file: given['config'] as string | undefined, otherKeys })).values;
    const output = new Output(options['output'] as 'table' | 'json');
    end(exitCodes[await endOf(async () => (await row.handler())({ config, options: options as never, output }))].code);
  });
}

/** How the work ended; what it failed with is printed. */
async function endOf(work: () => Promise<ExitName>): Promise<ExitName> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof LtsError)) throw error;
    process.stderr.write(`lts: ${error.reason}: ${error.message}\n`);
    return exitOfError(error);
  }
}

function examplesText(examples: readonly string[]): string {
  return examples.length === 0 ? '' : `\nExamples:\n${examples.map((example) => `  ${example}\n`).join('')}`;
}

function asUsage<T>(load: () => T): T {
  try {
    return load();
  } catch (error) {
    throw error instanceof LtsError ? new UsageError(error.message) : error;
  }
}

function addService(program: Command, service: ServiceCommand, otherKeys: readonly string[]): void {
  const made = program.command(service.name).description(service.description);
  addServiceOptions(made, service);
  const ends: ExitName[] = ['ok', 'failed', 'usage', 'software', 'config'];
  made.addHelpText('after', () => `\nEvery option is also a variable LTS_… and a key of the file of --config.\n\nExit codes:\n${exitTable(ends)}`);
  made.action(async () => {
    const { config, ...flags } = made.opts<{ config?: string }>();
    const { failStart, serve } = await import('./serve.js');
    try {
      await serve(service, { flags, file: config, otherKeys });
    } catch (error) {
      // What had been started by then must not keep the process.
      process.exit(failStart(service, error));
    }
  });
}

function addServiceOptions(made: Command, service: ServiceCommand): void {
  made.option('--config <file>', 'Settings from a YAML or JSON file; keys are those of `lts config`; LTS_CONFIG.');
  addOptions(made, service.settings, { switchValues: true });
  addOptions(made, processSettings);
}

function addConfig(program: Command, services: readonly ServiceCommand[], otherKeys: readonly string[], end: (code: number) => void): void {
  const parent = program
    .command('config')
    .description('Prints the settings in force, with where each comes from; secrets are masked.')
    .argument('[service]', `one of ${services.map((service) => service.name).join(', ')}; without it: all`)
    .option('--config <file>', 'Settings from a YAML or JSON file; LTS_CONFIG.')
    .addOption(new Option('-o, --output <value>', 'How data is printed.').choices(['table', 'json']).default('table'));
  parent.action(async (name: string | undefined) => {
    const { config, output } = parent.opts<{ config?: string; output: 'table' | 'json' }>();
    const { showConfig } = await import('./handlers/show-config.js');
    end(exitCodes[showConfig(name, services, { flags: {}, file: config, otherKeys, allowMissing: true }, new Output(output))].code);
  });
}

function exitTable(ends: readonly ExitName[]): string {
  return ends.map((name) => `  ${String(exitCodes[name].code).padStart(3)}  ${exitCodes[name].meaning}\n`).join('');
}
