import { type LoadedSettings, loadSettings } from '../../shared/config/load-settings.js';
import type { AnySettings, Settings } from '../../shared/config/settings.js';
import { LtsError } from '../../shared/errors/lts-error.js';
import { createLogger, type Logger, type LogLevelName } from '../../shared/log/logger.js';
import { tzdataVersion } from '../../shared/schedule/tzdata.js';
import { exitCodes } from './exit-codes.js';
import { processSettings } from './process-settings.js';
import type { RunningService, ServiceCommand } from './service-command.js';

/** What the command line of a service gives. */
export interface ServiceFlags {
  flags: Readonly<Record<string, unknown>>;
  file: string | undefined;
  /** Keys of the other services, whose variables may stand in the same environment. */
  otherKeys: readonly string[];
  /** For showing only. */
  allowMissing?: boolean;
}

/** All settings of the process of a service. */
export function settingsOf(service: ServiceCommand): AnySettings {
  return { fields: { ...service.settings.fields, ...processSettings.fields }, checks: service.settings.checks };
}

/** The settings in force. Throws CONFIG_INVALID. */
export function loadServiceSettings(service: ServiceCommand, given: ServiceFlags): LoadedSettings {
  return loadSettings(settingsOf(service) as Settings, given);
}

/** Runs a service until a signal ends the process. Never returns to the caller in a way that ends the process. */
export async function serve(service: ServiceCommand, given: ServiceFlags): Promise<void> {
  const { values } = loadServiceSettings(service, given);
  const log = createLogger(service.name, (values as { logLevel: LogLevelName }).logLevel);
  const fail = guardProcess(log);
  const signals = catchSignals();
  const running = await Promise.race([service.start(values as never, log), signals.then(() => undefined)]);
  // Asked to leave before it served: there is nothing to drain.
  if (running === undefined) process.exit(exitCodes.ok.code);
  log.info('process.started', { address: running.address, tzdata: tzdataVersion });
  process.stdout.write([`${service.name} ${service.verb} ${running.address}`, ...(running.lines ?? []), ''].join('\n'));
  running.closed?.catch(fail);
  tolerateStrays(running, fail);
  const signal = await signals;
  await leave(running, signal, log);
}

/** What nobody caught: the state of the process is not known any more, so it goes at once. */
function guardProcess(log: Logger): (error: unknown) => never {
  const fail = (error: unknown): never => {
    log.error('process.failed', { error });
    process.exit(exitCodes.software.code);
  };
  process.on('uncaughtException', fail);
  process.on('unhandledRejection', fail);
  // Whoever read our first lines may be gone.
  process.stdout.on('error', () => undefined);
  return fail;
}

/** A service that runs user code goes on when that leaves a promise unhandled. */
function tolerateStrays(running: RunningService, fail: (error: unknown) => never): void {
  const { onStray } = running;
  if (onStray === undefined) return;
  process.off('unhandledRejection', fail);
  process.on('unhandledRejection', onStray);
}

/** Resolves with the first signal to leave; the second one ends the process at once. */
function catchSignals(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let asked = false;
    const onSignal = (signal: NodeJS.Signals): void => {
      if (asked) process.exit(exitCodes.failed.code);
      asked = true;
      resolve(signal);
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });
}

async function leave(running: RunningService, signal: NodeJS.Signals, log: Logger): Promise<void> {
  log.info('process.draining', { signal });
  try {
    await running.drain();
  } catch (error) {
    log.error('process.failed', { error });
    process.exit(exitCodes.software.code);
  }
  log.info('process.stopped');
  process.exit(exitCodes.ok.code);
}

/** What a failed start prints, and how the process ends. */
export function failStart(service: ServiceCommand, error: unknown): number {
  if (error instanceof LtsError && error.reason === 'CONFIG_INVALID') {
    process.stderr.write(`lts ${service.name}: cannot start with these settings\n${error.message.replaceAll(/^/gm, '  ')}\nSee: lts ${service.name} --help, lts config ${service.name}\n`);
    return exitCodes.config.code;
  }
  const text = error instanceof LtsError ? `${error.reason}: ${error.message}` : error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`lts ${service.name}: cannot start\n  ${text}\n`);
  return exitCodes.software.code;
}
