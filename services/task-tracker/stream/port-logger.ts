import type { LogEvent } from '../../../shared/log/events.js';
import type { LogFields, Logger } from '../../../shared/log/logger.js';
import type { ToMain } from './messages.js';

/** A log whose lines are written by the main thread, where the process has its log. */
export function portLogger(post: (message: ToMain) => void, base: LogFields = {}): Logger {
  const line =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (event: LogEvent, fields: LogFields = {}): void =>
      post({ kind: 'log', level, event, fields: cloneable({ ...base, ...fields }) });
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error'), child: (fields) => portLogger(post, { ...base, ...fields }) };
}

/** Errors keep their stack; anything else that cannot cross threads becomes text. */
function cloneable(fields: LogFields): Record<string, unknown> {
  const { error, ...rest } = fields;
  const flat = error === undefined ? rest : { ...rest, error: error instanceof Error ? (error.stack ?? error.message) : error };
  try {
    return structuredClone(flat);
  } catch {
    return { fields: JSON.stringify(flat) };
  }
}
