import { lastYear } from './calendar.js';
import { type CronFields, dayFrom, daysAsBits, type DayTable, dayTable, type MonthShape, type NearestWeekday, type Refuse, tableIndex, weekdaysAsBits } from './cron-fields.js';
import { dayNames, type FieldGrammar, type FieldSpec, monthNames, parseField } from './field-parser.js';
import { nearestWeekday } from './nearest-weekday.js';
import { NumberSet } from './number-set.js';

const specs = {
  second: { name: 'second', min: 0, max: 59 },
  minute: { name: 'minute', min: 0, max: 59 },
  hour: { name: 'hour', min: 0, max: 23 },
  day: { name: 'day of month', min: 1, max: 31, spread: { from: 1, to: 28 } },
  month: { name: 'month', min: 1, max: 12, names: monthNames },
  weekday: { name: 'day of week', min: 1, max: 7, names: dayNames },
  year: { name: 'year', min: 1970, max: lastYear },
} as const satisfies Record<string, FieldSpec>;

const grammar: FieldGrammar = { wraps: true, openSteps: true, fullSteps: false, mixesNames: false };

type Read = (spec: FieldSpec, text: string) => { values: Set<number>; interval: boolean };

/**
 * Six or seven fields as Quartz reads them: second, minute, hour, day of month, month, day of week with 1 as Sunday,
 * year. Exactly one of the two day fields is `?`. What Quartz takes and then ignores is refused.
 */
export function parseQuartzCron(fields: readonly string[], spread: string, refuse: Refuse): CronFields {
  const [second = '', minute = '', hour = '', day = '', month = '', weekday = '', year = '*'] = fields;
  const read: Read = (spec, text) => parseField({ spec, grammar, spread, refuse }, text);
  const [seconds, minutes, hours, months] = [read(specs.second, second), read(specs.minute, minute), read(specs.hour, hour), read(specs.month, month)];
  if ((day === '?') === (weekday === '?')) {
    throw refuse(`${day} … ${weekday}`, `exactly one of day of month and day of week is ?, such as ${weekday === '*' || weekday === '?' ? '"* … ?"' : '"? … MON-FRI"'}`);
  }
  if (year.includes('H')) throw refuse(year, 'H is not for the year');
  const severalTimes = seconds.values.size * minutes.values.size * hours.values.size > 1;
  const dates = day === '?' ? undefined : dateTables(day, read, refuse);
  return {
    seconds: NumberSet.of(seconds.values),
    minutes: NumberSet.of(minutes.values),
    hours: NumberSet.of(hours.values),
    months: NumberSet.of(months.values),
    years: year === '*' ? undefined : parseField({ spec: specs.year, grammar: { ...grammar, wraps: false }, spread, refuse }, year).values,
    days: dates === undefined ? weekdayTable(weekday, read, refuse) : dates.days,
    nearest: severalTimes ? dates?.nearest : undefined,
    interval: minutes.interval || hours.interval,
  };
}

/** Days of the month: numbers, L, L-3, and with W the weekday (Monday to Friday) nearest to one, within the month. */
function dateTables(text: string, read: Read, refuse: Refuse): { days: DayTable; nearest: NearestWeekday | undefined } {
  const rules = text.split(',').map((item) => dateRule(item, read, refuse));
  const tableOf = (nearest: boolean): DayTable => dayTable((month) => rules.reduce((days, rule) => (rule.nearest === nearest ? days | rule.daysOf(month) : days), 0));
  const [plain, named] = [tableOf(false), tableOf(true)];
  if (!rules.some((rule) => rule.nearest)) return { days: plain, nearest: undefined };
  const days = dayTable((month) => {
    const index = tableIndex(month);
    return (plain[index] ?? 0) | moved(named[index] ?? 0, month);
  });
  return { days, nearest: { plain, named } };
}

/** Each of the days, as bits, moved to its nearest weekday. */
function moved(days: number, { length, firstWeekday }: MonthShape): number {
  const to: number[] = [];
  for (let day = dayFrom(days, 1); day !== 0; day = day === 31 ? 0 : dayFrom(days, day + 1)) to.push(nearestWeekday(day, length, (firstWeekday + day - 1) % 7));
  return daysAsBits(to);
}

interface DateRule {
  /** Whether it has W; daysOf gives the days before they are moved. */
  nearest: boolean;
  daysOf: (month: MonthShape) => number;
}

function dateRule(item: string, read: Read, refuse: Refuse): DateRule {
  const found = /^(?:(?<last>L)(?:-(?<offset>\d{1,2}))?|(?<date>\d{1,2})(?=W))(?<nearest>W)?$/.exec(item)?.groups;
  const nearest = found?.['nearest'] !== undefined;
  if (found?.['last'] !== undefined) {
    const offset = Number(found['offset'] ?? 0);
    if (offset > 30) throw refuse(item, 'at most 30 days before the last one');
    return { nearest, daysOf: ({ length }) => daysAsBits([length - offset]) };
  }
  const days = daysAsBits(read(specs.day, found?.['date'] ?? item).values);
  return { nearest, daysOf: () => days };
}

/** Days of the week: numbers and names, L for Saturday, 6L for the last Friday, 6#3 for the third. */
function weekdayTable(text: string, read: Read, refuse: Refuse): DayTable {
  const weekdays = (part: string): number[] => [...read(specs.weekday, part).values].map((value) => value - 1);
  if (text === 'L') return dayTable((month) => weekdaysAsBits([6], month));
  const last = /^(?<weekday>[1-7]|[A-Z]{3})L$/.exec(text)?.groups?.['weekday'];
  if (last !== undefined) {
    const days = weekdays(last);
    return dayTable((month) => weekdaysAsBits(days, month) & (-1 << (month.length - 7)));
  }
  const numbered = /^(?<weekdays>.*)#(?<number>[1-5])$/.exec(text)?.groups;
  if (numbered !== undefined) {
    // Quartz counts only the smallest day of a list.
    const weekday = Math.min(...weekdays(numbered['weekdays'] ?? ''));
    const week = 127 << ((Number(numbered['number']) - 1) * 7);
    return dayTable((month) => weekdaysAsBits([weekday], month) & week);
  }
  if (/#|L/.test(text)) throw refuse(text, 'write L, 6L or FRIL without a list, or 6#1 to 6#5');
  const days = weekdays(text);
  return dayTable((month) => weekdaysAsBits(days, month));
}
