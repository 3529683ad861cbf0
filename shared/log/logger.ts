import { pino } from 'pino';
import type { LogEvent } from './events.js';

/** Fields of a line; times end in Ms, sizes in Bytes. No payloads, no secrets. */
export type LogFields = Record<string, unknown> & { error?: unknown };

/** Writes lines that each name one event of the list. */
export interface Logger {
  debug(event: LogEvent, fields?: LogFields): void;
  info(event: LogEvent, fields?: LogFields): void;
  /** Degraded, or a job finally failed. */
  warn(event: LogEvent, fields?: LogFields): void;
  /** A person must act. */
  error(event: LogEvent, fields?: LogFields): void;
  child(fields: LogFields): Logger;
}

/** How much is written. */
export type LogLevelName = 'silent' | 'error' | 'warn' | 'info' | 'debug';

function wrap(target: pino.Logger): Logger {
  const line =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (event: LogEvent, fields: LogFields = {}): void => {
      const { error, ...rest } = fields;
      target[level]({ event, ...rest, ...(error === undefined ? {} : { err: error }) });
    };
  return {
    debug: line('debug'),
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
    child: (fields) => wrap(target.child(fields)),
  };
}

/** The root logger of a process: JSON lines on standard error. */
export function createLogger(service: string, level: LogLevelName, fields: LogFields = {}): Logger {
  return wrap(pino({ level, base: { service, pid: process.pid, ...fields }, timestamp: pino.stdTimeFunctions.isoTime }, pino.destination(2)));
}

/** Writes nothing. */
export const silentLogger: Logger = wrap(pino({ level: 'silent' }));
