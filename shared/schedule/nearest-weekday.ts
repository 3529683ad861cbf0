import { dayMs, lastYear, monthLength, toCivilDate, toDayNumber, weekdayOf } from './calendar.js';
import { type CronFields, dayFrom, daysOfMonth, type NearestWeekday, nextTimeOfDay } from './cron-fields.js';

/** The weekday (Monday to Friday) nearest to a day, within its month. */
export function nearestWeekday(day: number, length: number, weekday: number): number {
  if (weekday === 6) return day === 1 ? 3 : day - 1;
  if (weekday === 0) return day === length ? day - 2 : day + 1;
  return day;
}

/**
 * What Quartz answers to W with several times a day, step by step, since its users have these times. It is not the
 * first matching local time: on its way to the day Quartz keeps the time of the day that it has reached, and once the
 * named day is over it takes no more times on the weekday that stands for it. So "0 0 9,18 9W * ?" fires once only, at 9,
 * when the 9th is a Sunday.
 */
export function nextNearest(fields: CronFields, { plain, named }: NearestWeekday, from: number): number | undefined {
  const earliest = Math.ceil(from / 1_000) * 1_000;
  for (let low = earliest; ; ) {
    let dayNumber = Math.floor(low / dayMs);
    let time = nextTimeOfDay(fields, (low - dayNumber * dayMs) / 1_000);
    if (time === -1) {
      dayNumber += 1;
      time = nextTimeOfDay(fields, 0);
    }
    const { year, month, day } = toCivilDate(dayNumber);
    if (year > lastYear) return undefined;
    const beforeFirst = dayNumber - day;
    const plainDay = dayFrom(daysOfMonth(plain, year, month), day);
    const namedDay = dayFrom(daysOfMonth(named, year, month), day);
    let chosen = namedDay === 0 ? 0 : nearestWeekday(namedDay, monthLength(year, month), weekdayOf(beforeFirst + namedDay));
    if ((beforeFirst + chosen) * dayMs + time * 1_000 < earliest) chosen = 0;
    if (plainDay !== 0 && (chosen === 0 || plainDay < chosen)) {
      chosen = plainDay;
      if (chosen !== day) {
        low = (beforeFirst + chosen) * dayMs;
        continue;
      }
    }
    if (chosen !== 0 && fields.months.has(month) && fields.years?.has(year) !== false) return (beforeFirst + chosen) * dayMs + time * 1_000;
    low = toDayNumber(month === 12 ? year + 1 : year, month === 12 ? 1 : month + 1, 1) * dayMs;
  }
}
