import type { ValuesOf } from '../../../shared/config/settings.js';
import type { ListLogsResponse__Output } from '../../../shared/grpc/generated/lts/v1/ListLogsResponse.js';
import type { LogLine__Output } from '../../../shared/grpc/generated/lts/v1/LogLine.js';
import { systemClock } from '../../../shared/time/clock.js';
import type { ClientHandler } from '../command.js';
import type { logsOptions } from '../command-options.js';
import { hasEnded, instanceName, readInstance } from '../instances.js';
import { formatTime, type Output, shortName } from '../output.js';
import type { Target } from '../target.js';

const followPauseMs = 500;

/** lts job logs: what runners wrote, oldest first; one line of JSON each with -o json. */
export const showLogs: ClientHandler<ValuesOf<typeof logsOptions>> = async ({ args, options, target, output }) => {
  const name = instanceName(args[0], options);
  const instanceId = name.instance_id === '' ? (await readInstance(target, name)).instance_id : name.instance_id;
  const reader = new LogReader(instanceId, options.attempt ?? 0, target, output);
  for (;;) {
    // Read before the lines: lines that are stored with the end are then seen too.
    const ended = hasEnded(await readInstance(target, { instance_id: instanceId, task_id: '', node_group: '' }));
    await reader.printNew();
    if (!options.follow || ended) return 'ok';
    await systemClock.sleep(followPauseMs);
  }
};

/** Prints each line once. A page without a next token may grow, so it is read again and its known lines left out. */
class LogReader {
  readonly #request: { instance_id: string; attempt: number; page_size: number };
  readonly #target: Target;
  readonly #output: Output;
  #pageToken = '';
  #seenOfPage = 0;

  constructor(instanceId: string, attempt: number, target: Target, output: Output) {
    this.#request = { instance_id: instanceId, attempt, page_size: 1_000 };
    this.#target = target;
    this.#output = output;
  }

  async printNew(): Promise<void> {
    for (;;) {
      const request = { ...this.#request, page_token: this.#pageToken };
      const page = await this.#target.call<ListLogsResponse__Output>((clients, call, answer) => clients.admin.listLogs(request, call, answer));
      for (const line of page.lines.slice(this.#seenOfPage)) this.#output.item(line, () => formatLine(line));
      this.#seenOfPage = page.lines.length;
      if (page.next_page_token === '' || page.next_page_token === this.#pageToken) return;
      this.#pageToken = page.next_page_token;
      this.#seenOfPage = 0;
    }
  }
}

function formatLine(line: LogLine__Output): string {
  return `${formatTime(line.at)} ${line.attempt} ${shortName(line.level, 'LOG_LEVEL').padEnd(5)} ${line.text}${line.truncated ? ' [truncated]' : ''}`;
}
