import { LtsError } from '../errors/lts-error.js';
import { quoted } from '../errors/quoted.js';
import type { Refuse } from './cron-fields.js';
import { CronTimetable, type GapPolicy, type OverlapPolicy } from './cron-timetable.js';
import { parseEvery } from './every-macro.js';
import { dayNames } from './field-parser.js';
import { parseQuartzCron } from './quartz-cron.js';
import type { Timetable } from './timetable.js';
import { parseUnixCron } from './unix-cron.js';
import { zoneOf } from './zone.js';

// Cron expressions. The pages: unix-cron.ts and quartz-cron.ts (what the dialects take), field-parser.ts (what they
// share, and H), every-macro.ts (@every), cron-timetable.ts (zones, and what becomes of skipped and repeated times).
//
// The engine is our own because no library gives Quartz's times. cron-parser, the best kept one, takes many Quartz
// expressions and answers with other days without a word: "0 0 12 ? * 2" is Monday in Quartz and Tuesday there, 6#3 and
// 6L the third and last Saturday in place of Friday; it knows no year, no W, no L-3 and no range over the end; in
// half-hour zones it loses fires. It is right in the UNIX dialect in UTC, and the tests compare the two there.

export type { GapPolicy, OverlapPolicy } from './cron-timetable.js';

/** How the fields are read; AUTO decides only where there is no doubt. */
export type CronDialect = 'AUTO' | 'UNIX' | 'QUARTZ';

/** A cron schedule as its user wrote it. */
export interface CronSpec {
  /** At most 256 characters. */
  expression: string;
  dialect: CronDialect;
  /** A name of the IANA list; '' is UTC. */
  zone: string;
  gap: GapPolicy;
  overlap: OverlapPolicy;
  /** What H and the start of @every are spread by: stable text such as group/task; '' spreads nothing. */
  spread: string;
}

const longest = 256;

const macros: Readonly<Record<string, string>> = {
  '@YEARLY': '0 0 1 1 *',
  '@ANNUALLY': '0 0 1 1 *',
  '@MONTHLY': '0 0 1 * *',
  '@WEEKLY': '0 0 * * 0',
  '@DAILY': '0 0 * * *',
  '@MIDNIGHT': '0 0 * * *',
  '@HOURLY': '0 * * * *',
};

/** The fires of a cron expression, from 1970 to 2099. Throws CRON_INVALID, and INVALID_ARGUMENT for an unknown zone. */
export function cron({ expression, dialect, zone, gap, overlap, spread }: CronSpec): Timetable {
  const refuse: Refuse = (part, wayOut) => new LtsError('CRON_INVALID', `cron expression ${quoted(expression)}${part === '' ? '' : `, at ${quoted(asWritten(expression, part))}`}: ${wayOut}`);
  if (expression.length > longest) throw refuse('', `has ${expression.length} characters, at most ${longest} are possible`);
  const odd = /[^ \t\x21-\x7e]/u.exec(expression)?.[0];
  if (odd !== undefined) throw refuse(odd, 'only letters, digits, signs, spaces and tabs are possible, on one line');
  const text = expression.trim().toUpperCase();
  if (text === '') throw refuse('', 'is empty; write something like "0 12 * * *" (UNIX, every day at 12:00)');
  const inZone = zoneOf(zone);
  if (text.startsWith('@EVERY')) return parseEvery(text, spread, refuse);
  const fields = fieldsOf(text, refuse);
  const parse = text.startsWith('@') || dialectOf(fields, dialect, refuse) === 'UNIX' ? parseUnixCron : parseQuartzCron;
  return new CronTimetable(parse(fields, spread, refuse), inZone, gap, overlap);
}

/** A part of the expression in the case of its user: it is read in upper case. */
function asWritten(expression: string, part: string): string {
  const at = expression.toUpperCase().indexOf(part);
  return at === -1 || expression.includes(part) ? part : expression.slice(at, at + part.length);
}

function fieldsOf(text: string, refuse: Refuse): string[] {
  if (!text.startsWith('@')) return text.split(/[ \t]+/);
  const expression = Object.hasOwn(macros, text) ? macros[text] : undefined;
  if (expression === undefined) throw refuse(text, `there are ${Object.keys(macros).join(', ').toLowerCase()}, and @every 90s`);
  return expression.split(' ');
}

function dialectOf(fields: readonly string[], dialect: CronDialect, refuse: Refuse): 'UNIX' | 'QUARTZ' {
  const count = fields.length;
  if (dialect === 'UNIX') {
    if (count !== 5) throw refuse('', `UNIX has 5 fields (minute, hour, day of month, month, day of week), not ${count}${count === 6 || count === 7 ? '; with seconds it is dialect QUARTZ' : ''}`);
    return 'UNIX';
  }
  if (dialect === 'QUARTZ') {
    if (count !== 6 && count !== 7) throw refuse('', `QUARTZ has 6 or 7 fields (second, minute, hour, day of month, month, day of week, year), not ${count}${count === 5 ? '; without seconds it is dialect UNIX' : ''}`);
    return 'QUARTZ';
  }
  if (count === 5) return 'UNIX';
  if (count === 7 || (count === 6 && fields.includes('?'))) return 'QUARTZ';
  if (count === 6) throw refuse('', bothReadings(fields));
  throw refuse('', `there are expressions of 5 fields (UNIX) and of 6 or 7 (QUARTZ), not of ${count}`);
}

/** Six fields without ?: other programs read them as seconds and UNIX weekdays, Quartz does not take them. */
function bothReadings(fields: readonly string[]): string {
  const [second = '', minute, hour, day = '', month, weekday = ''] = fields;
  const number = /[1-7]/.exec(weekday.replace(/\/.*/, ''))?.[0];
  const dayIn = (dialect: CronDialect): string => (number === undefined ? '' : `, day ${number} is ${dayNames[(Number(number) + (dialect === 'UNIX' ? 0 : 6)) % 7]}`);
  const [asDay, asWeekday] = weekday === '*' ? [day, '?'] : ['?', weekday];
  const lost = weekday === '*' || day === '*' ? '' : ', and which takes only one of the two day fields';
  const unix = second === '0' ? `"${[minute, hour, day, month, weekday].join(' ')}" (dialect UNIX` : `five fields without "${second}" (dialect UNIX`;
  return `6 fields without ? can be read in two ways: write "${[second, minute, hour, asDay, month, asWeekday].join(' ')}" (dialect QUARTZ, which begins with the seconds${dayIn('QUARTZ')}${lost}) or ${unix}, which has no seconds${dayIn('UNIX')})`;
}
