import type { LogRow, ReadyKey } from '../../queue-store.js';
import { levelOf } from '../codes.js';
import { page } from '../page.js';
import type { RunStatement } from './ordered-calls.js';
import { byteLimited } from './page-bytes.js';

interface LogData extends Omit<LogRow, 'level'> {
  line: number;
  level: number;
}

const logSelect = byteLimited(
  'SELECT l.id, l.line, l.attempt, l.at, l.level, l.text, l.truncated FROM lts.log l WHERE l.id = $1 AND l.line > $2 AND ($3 = 0 OR l.attempt = $3) ORDER BY l.line LIMIT $4',
  'text',
  'line',
);

const beforeSelect = `SELECT count(*) AS rows FROM (
  SELECT 1 FROM lts.live WHERE state = 2 AND group_id = (SELECT group_id FROM lts.node_group WHERE name = $1) AND (priority, due_at, seq) < ($2, $3, $4) LIMIT $5) r`;

/** Short reads of log lines and queue positions. */
export class QueueReads {
  readonly #read: RunStatement;

  constructor(read: RunStatement) {
    this.#read = read;
  }

  async logs(id: string, attempt: number, afterLine: number, limit: number): Promise<{ rows: LogRow[]; nextAfter: number | undefined }> {
    const { rows } = await this.#read<LogData>(logSelect, [id, afterLine, attempt, limit]);
    const { rows: found, full } = page(rows, limit, ({ text }) => text);
    const lines = found.map(({ attempt: of, at, level, text, truncated }) => ({ id, attempt: of, at, level: levelOf(level), text, truncated }));
    return { rows: lines, nextAfter: full ? found.at(-1)?.line : undefined };
  }

  async countBefore(nodeGroup: string, key: ReadyKey, most: number): Promise<number> {
    const { rows } = await this.#read<{ rows: number }>(beforeSelect, [nodeGroup, key.priority, key.dueAt, key.seq, most]);
    return rows[0]?.rows ?? 0;
  }
}
