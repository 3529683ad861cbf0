import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { record } from '../checker/history.js';

const mark = '"event":"run.resent"';

/** Records which attempts were sent again, as the logs of the trackers say. */
export function recordResent(logs: string, history: string): void {
  for (const name of readdirSync(logs).filter((file) => /^[abc]-\d+\.log$/.test(file))) {
    for (const line of readFileSync(join(logs, name), 'utf8').split('\n')) {
      if (!line.includes(mark) || !line.endsWith('}')) continue;
      const { instanceId, attempt } = JSON.parse(line) as { instanceId: string; attempt: number };
      record(history, 'resent', { kind: 'resent', id: instanceId, attempt });
    }
  }
}
