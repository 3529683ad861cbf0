import { lastYear } from './calendar.js';
import { type CronFields, type DayTable, dayTable, type MonthShape, type Refuse } from './cron-fields.js';
import { dayNames, type FieldGrammar, type FieldSpec, monthNames, parseField } from './field-parser.js';
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

const grammar: FieldGrammar = { wraps: true, openSteps: true, stepsOfNames: false };

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
  return {
    seconds: NumberSet.of(seconds.values),
    minutes: NumberSet.of(minutes.values),
    hours: NumberSet.of(hours.values),
    months: NumberSet.of(months.values),
    years: year === '*' ? undefined : read(specs.year, year).values,
    days: day === '?' ? weekdayTable(weekday, read, refuse) : dateTable(day, read, refuse),
    interval: minutes.interval || hours.interval,
  };
}

/** Days of the month: numbers, L, L-3, and with W the weekday (Monday to Friday) nearest to one, within the month. */
function dateTable(text: string, read: Read, refuse: Refuse): DayTable {
  const rules = text.split(',').map((item): ((month: MonthShape) => Iterable<number>) => {
    const found = /^(?:L(?:-(?<offset>\d{1,2}))?|(?<date>\d{1,2}))(?<nearest>W)?$/.exec(item)?.groups;
    if (found === undefined || (found['date'] !== undefined && found['nearest'] === undefined)) {
      const { values } = read(specs.day, item);
      return () => values;
    }
    const [offset, date] = [Number(found['offset'] ?? 0), found['date'] === undefined ? undefined : Number(found['date'])];
    if (offset > 30) throw refuse(item, 'at most 30 days before the last one');
    if (date !== undefined && (date < 1 || date > 31)) throw refuse(item, 'the day of month is 1 to 31');
    const nearest = found['nearest'] !== undefined;
    return (month) => {
      const day = date ?? month.length - offset;
      return nearest ? [nearestWeekday(day, month)] : [day];
    };
  });
  return dayTable((month) => rules.flatMap((rule) => [...rule(month)]));
}

/** 0, which is no day, when the month does not have that day. */
function nearestWeekday(day: number, { length, firstWeekday }: MonthShape): number {
  if (day < 1 || day > length) return 0;
  const weekday = (firstWeekday + day - 1) % 7;
  if (weekday === 6) return day === 1 ? 3 : day - 1;
  if (weekday === 0) return day === length ? day - 2 : day + 1;
  return day;
}

/** Days of the week: numbers and names, L for Saturday, 6L for the last Friday, 6#3 for the third. */
function weekdayTable(text: string, read: Read, refuse: Refuse): DayTable {
  if (text === 'L') return tableOf([7], () => true);
  const last = /^(?<weekday>[1-7]|[A-Z]{3})L$/.exec(text)?.groups;
  if (last !== undefined) return tableOf(read(specs.weekday, last['weekday'] ?? '').values, (day, { length }) => day + 7 > length);
  const numbered = /^(?<weekdays>.*)#(?<number>[1-5])$/.exec(text)?.groups;
  if (numbered !== undefined) {
    // Quartz counts only the smallest day of a list.
    const weekday = Math.min(...read(specs.weekday, numbered['weekdays'] ?? '').values);
    return tableOf([weekday], (day) => Math.ceil(day / 7) === Number(numbered['number']));
  }
  if (/#|L/.test(text)) throw refuse(text, 'write L, 6L or FRIL without a list, or 6#1 to 6#5');
  return tableOf(read(specs.weekday, text).values, () => true);
}

/** The days of these weekdays (1 is Sunday) that the condition takes. */
function tableOf(weekdays: Iterable<number>, takes: (day: number, month: MonthShape) => boolean): DayTable {
  const wanted = new Set(weekdays);
  return dayTable((month) => Array.from({ length: month.length }, (_, index) => index + 1).filter((day) => wanted.has(((month.firstWeekday + day - 1) % 7) + 1) && takes(day, month)));
}
