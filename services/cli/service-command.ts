import type { AnySettings, SettingFields, Settings, ValuesOf } from '../../shared/config/settings.js';
import type { Logger } from '../../shared/log/logger.js';

/** A service that runs in this process. */
export interface RunningService {
  /** host:port, or what the service is known by when it opens no port. */
  address: string;
  /** Leaves in order; resolves when nothing of it is left. */
  drain(): Promise<void>;
  /** More lines for the person who started it. */
  lines?: readonly string[];
  /** Rejects when the service cannot go on. */
  closed?: Promise<void>;
  /** Takes promises that user code left unhandled; without it the process ends. */
  onStray?: (error: unknown) => void;
}

/** How a service is started. */
export type StartService<Config> = (config: Config, parts: { log: Logger }) => Promise<RunningService>;

/** One row of the table of services: `lts <name>`. Options come from its settings. */
export interface ServiceCommand {
  name: string;
  description: string;
  settings: AnySettings;
  /** What stands between name and address in the line that says it has started. */
  verb: string;
  /** Prepared for one config; the app is loaded only when it is started. */
  start(config: never, log: Logger): Promise<RunningService>;
}

/** Ties the settings of a service to what starts it. */
export function service<F extends SettingFields>(row: {
  name: string;
  description: string;
  settings: Settings<F>;
  verb?: string;
  load: () => Promise<StartService<ValuesOf<F>>>;
}): ServiceCommand {
  const { name, description, settings, verb = 'serves on', load } = row;
  return { name, description, settings, verb, start: async (config: ValuesOf<F>, log) => (await load())(config, { log }) };
}
