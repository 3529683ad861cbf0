import type { Logs__Output } from '../../../shared/grpc/generated/lts/v1/Logs.js';
import { isId } from '../../../shared/ids.js';
import type { Logger } from '../../../shared/log/logger.js';
import type { WorkerSession } from '../dispatch/worker-session.js';
import type { LogRow, QueueStore } from '../queue/queue-store.js';
import { storable, storableTime } from './storable.js';

const levels: ReadonlyMap<unknown, LogRow['level']> = new Map((['DEBUG', 'INFO', 'WARN', 'ERROR'] as const).map((level) => [`LOG_LEVEL_${level}`, level]));
const longestLine = 64 * 1024;
/** Bytes of log text that may be on their way into the store; beyond that frames are not acked, and the worker sends them again. */
const mostInFlightBytes = 16 * 1024 * 1024;

/** Lines that runners wrote go into the store by the second lane: they never delay a transition. */
export class LogIntake {
  readonly #store: Pick<QueueStore, 'appendLogs'>;
  readonly #touched: (session: WorkerSession) => void;
  readonly #log: Logger;
  #inFlightBytes = 0;

  constructor(store: Pick<QueueStore, 'appendLogs'>, touched: (session: WorkerSession) => void, log: Logger) {
    this.#store = store;
    this.#touched = touched;
    this.#log = log;
  }

  take(session: WorkerSession, frame: Logs__Output): void {
    const rows = frame.lines.filter((line) => isId(line.instance_id)).map(toRow);
    const bytes = rows.reduce((sum, row) => sum + row.text.length + 64, 0);
    if (this.#inFlightBytes + bytes > mostInFlightBytes) return;
    this.#inFlightBytes += bytes;
    this.#store.appendLogs(rows).then(
      () => {
        this.#inFlightBytes -= bytes;
        session.ackLogs(frame.sequence);
        this.#touched(session);
        session.flush();
      },
      (error: unknown) => {
        this.#inFlightBytes -= bytes;
        this.#log.warn('store.failed', { operation: 'appendLogs', error });
      },
    );
  }
}

function toRow(line: Logs__Output['lines'][number]): LogRow {
  const long = line.text.length > longestLine;
  return {
    id: line.instance_id,
    attempt: line.attempt,
    at: storableTime(line.at),
    level: levels.get(line.level) ?? 'INFO',
    text: storable(long ? line.text.slice(0, longestLine) : line.text),
    truncated: line.truncated || long,
  };
}
