import { once } from 'node:events';
import type { ValuesOf } from '../../../shared/config/settings.js';
import { LtsError } from '../../../shared/errors/lts-error.js';
import { cron } from '../../../shared/schedule/cron.js';
import { dailyWindow } from '../../../shared/schedule/daily-window.js';
import { formatInstant, formatLocal } from '../../../shared/schedule/instant.js';
import { preview, type PreviewedFire, previewFires, readPreviewRequest, toAnswer } from '../../../shared/schedule/preview.js';
import { isSpread } from '../../../shared/schedule/spread.js';
import type { Timetable } from '../../../shared/schedule/timetable.js';
import { parseTimeOfDay, parseWeekdays } from '../../../shared/schedule/window-text.js';
import { systemClock } from '../../../shared/time/clock.js';
import type { ClientHandler } from '../command.js';
import type { previewOptions } from '../command-options.js';
import { Output, type Rows } from '../output.js';
import { UsageError } from '../usage-error.js';

type PreviewOptions = ValuesOf<typeof previewOptions>;

/** lts schedule preview: when a schedule fires; computed here, no server is called. */
export const previewSchedule: ClientHandler<PreviewOptions> = async ({ options, output }) => {
  if ([options.cron !== undefined, options.window !== undefined, options.stdin].filter(Boolean).length !== 1) throw new UsageError('give one of --cron, --window, --stdin');
  if (options.stdin) {
    await answerLines(process.stdin);
    return 'ok';
  }
  try {
    const fires = options.window === undefined ? previewCron(options) : previewWindow(options);
    if (options.json) new Output('json').item(toAnswer(fires), () => '');
    else output.data(toAnswer(fires), () => (fires.length === 0 ? 'It never fires again.' : toRows(fires)));
    if (options.cron !== undefined && options.spread === undefined && isSpread(options.cron)) {
      output.message('H and @every are spread by group and task: a schedule fires at times of its own; to see them: --spread group/task, such as --spread demo/report');
    }
    return 'ok';
  } catch (error) {
    if (!(error instanceof LtsError)) throw error;
    if (options.json) new Output('json').item({ error: error.message }, () => '');
    throw new UsageError(error.message);
  }
};

function toRows(fires: readonly PreviewedFire[]): Rows {
  return {
    head: ['local time', 'UTC', 'clocks'],
    rows: fires.map(({ at, offset, note }) => [formatLocal(at, offset), formatInstant(at) ?? '', note]),
  };
}

function previewCron({ cron: expression, dialect, zone, from, count, gap, overlap, spread }: PreviewOptions): PreviewedFire[] {
  const request = readPreviewRequest({ cron: expression, dialect, zone, from, count, gap, overlap, spread }, systemClock.now());
  return previewFires(cron(request.spec), request.spec.zone, request.from, request.count);
}

function previewWindow(options: PreviewOptions): PreviewedFire[] {
  // The place, the start and the number are read as those of an expression.
  const { spec, from, count } = readPreviewRequest({ cron: '', zone: options.zone, from: options.from, count: options.count }, systemClock.now());
  return previewFires(windowOf(options), spec.zone, from, count);
}

function windowOf({ window = '', every, weekdays = [], zone = '' }: PreviewOptions): Timetable {
  const [begin = '', end = '', ...more] = window.split('-');
  const [from, to] = [parseTimeOfDay(begin), parseTimeOfDay(end)];
  if (from === undefined || to === undefined || more.length > 0) throw new UsageError(`--window ${window} is not a part of the day such as 09:00-17:00`);
  if (every === undefined) throw new UsageError('--window needs --every, such as --every 15m');
  const numbers = parseWeekdays(weekdays);
  if (numbers === undefined) throw new UsageError(`--weekdays ${weekdays.join(',')} are not weekdays such as MON-FRI,SUN`);
  return dailyWindow({ from, to, every, weekdays: numbers, zone });
}

/** The longest line that is read, and how much is answered before it is written; in characters. */
const longestLine = 65_536;

/** One answer per line, in the order of the lines. What comes in waits until what goes out has been taken. */
async function answerLines(input: NodeJS.ReadStream): Promise<void> {
  input.setEncoding('utf8');
  let rest = '';
  let answers = '';
  const flush = async (): Promise<void> => {
    if (answers === '') return;
    const taken = process.stdout.write(answers);
    answers = '';
    if (!taken) await once(process.stdout, 'drain');
  };
  for await (const chunk of input) {
    const lines = (rest + String(chunk)).split('\n');
    // Of a line that is too long only so much is kept that it is still too long.
    rest = (lines.pop() ?? '').slice(0, longestLine + 1);
    for (const line of lines) {
      answers += `${JSON.stringify(answerLine(line))}\n`;
      if (answers.length > longestLine) await flush();
    }
    await flush();
  }
  if (rest !== '') answers += `${JSON.stringify(answerLine(rest))}\n`;
  await flush();
}

function answerLine(line: string): ReturnType<typeof preview> {
  if (line.length > longestLine) return { error: `a line has at most ${longestLine} characters` };
  let request: unknown;
  try {
    request = JSON.parse(line);
  } catch {
    return { error: `not JSON: ${line.slice(0, 80)}` };
  }
  return preview(request, systemClock.now());
}
