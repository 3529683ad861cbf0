// The calendar without zones: a local time is the milliseconds since 1970-01-01T00:00 that a wall clock shows.

export const dayMs = 86_400_000;

/** The last year with fires, in local time: time zone rules and Quartz's own years do not go further. */
export const lastYear = 2099;

export interface CivilDate {
  year: number;
  /** 1 to 12. */
  month: number;
  /** 1 to 31. */
  day: number;
}

/** Days since 1970-01-01, of any year from 1 on. */
export function toDayNumber(year: number, month: number, day: number): number {
  // Years begin in March here, so that the leap day is the last one.
  const shifted = month > 2 ? year : year - 1;
  const century = Math.floor(shifted / 400);
  const yearOfEra = shifted - century * 400;
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  return century * 146_097 + yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear - 719_468;
}

export function toCivilDate(dayNumber: number): CivilDate {
  const shifted = dayNumber + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor((dayOfEra - Math.floor(dayOfEra / 1_460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365);
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const march = Math.floor((5 * dayOfYear + 2) / 153);
  const month = march < 10 ? march + 3 : march - 9;
  return { year: yearOfEra + era * 400 + (month > 2 ? 0 : 1), month, day: dayOfYear - Math.floor((153 * march + 2) / 5) + 1 };
}

/** 0 is Sunday. */
export function weekdayOf(dayNumber: number): number {
  return (((dayNumber + 4) % 7) + 7) % 7;
}

const lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

export function monthLength(year: number, month: number): number {
  const leap = month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return leap ? 29 : (lengths[month - 1] ?? 0);
}
