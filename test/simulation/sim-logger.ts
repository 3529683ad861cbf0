import { LtsError } from '../../shared/errors/lts-error.js';
import type { LogEvent } from '../../shared/log/events.js';
import type { LogFields, Logger } from '../../shared/log/logger.js';

/** Writes lines into the trace; `onError` gets what no fault explains. */
export function simLogger(write: (line: string) => void, onError: (line: string) => void): Logger {
  const line = (level: string) => (event: LogEvent, fields: LogFields = {}) => {
    const { error } = fields;
    write(`log ${level} ${event} ${JSON.stringify(fields, (_key, value: unknown) => (value instanceof Error ? value.message : value))}`);
    if (event === 'rpc.failed' || (error instanceof Error && !(error instanceof LtsError)) || (error instanceof LtsError && error.reason === 'INTERNAL')) onError(`${event} ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  };
  const logger: Logger = { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error'), child: () => logger };
  return logger;
}
