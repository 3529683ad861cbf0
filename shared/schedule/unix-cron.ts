import { type CronFields, daysAsBits, dayTable, type Refuse, weekdaysAsBits } from './cron-fields.js';
import { dayNames, type FieldGrammar, type FieldSpec, monthNames, parseField } from './field-parser.js';
import { NumberSet } from './number-set.js';

const specs = {
  minute: { name: 'minute', min: 0, max: 59 },
  hour: { name: 'hour', min: 0, max: 23 },
  // Every month has 28 days, so a spread day comes every month.
  day: { name: 'day of month', min: 1, max: 31, spread: { from: 1, to: 28 } },
  month: { name: 'month', min: 1, max: 12, names: monthNames },
  weekday: { name: 'day of week', min: 0, max: 7, names: dayNames, spread: { from: 0, to: 6 } },
} as const satisfies Record<string, FieldSpec>;

const grammar: FieldGrammar = { wraps: false, openSteps: false, fullSteps: true, mixesNames: true };

const noSeconds = NumberSet.of([0]);

/**
 * Five fields as cronie documents them: minute, hour, day of month, month, day of week with 0 and 7 as Sunday. When
 * neither of the day fields begins with a star, a day that fits one of them matches; otherwise it has to fit both.
 */
export function parseUnixCron(fields: readonly string[], spread: string, refuse: Refuse): CronFields {
  const foreign = fields.find((field) => /[?#WL]/.test(field.replaceAll(/JUL|WED/g, '')));
  if (foreign !== undefined) throw refuse(foreign, '?, L, W and # belong to dialect QUARTZ, which has 6 or 7 fields and begins with the seconds');
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = fields;
  const read = (spec: FieldSpec, text: string) => parseField({ spec, grammar, spread, refuse }, text);
  const [minutes, hours, days, months, weekdays] = [read(specs.minute, minute), read(specs.hour, hour), read(specs.day, day), read(specs.month, month), read(specs.weekday, weekday)];
  const onWeekday = new Set([...weekdays.values].map((value) => value % 7));
  const byDate = daysAsBits(days.values);
  const both = days.star || weekdays.star;
  return {
    seconds: noSeconds,
    minutes: NumberSet.of(minutes.values),
    hours: NumberSet.of(hours.values),
    months: NumberSet.of(months.values),
    years: undefined,
    nearest: undefined,
    days: dayTable((month) => {
      const byWeekday = weekdaysAsBits(onWeekday, month);
      return both ? byDate & byWeekday : byDate | byWeekday;
    }),
    interval: minutes.interval || hours.interval,
  };
}
