import fc from 'fast-check';

// Random cron expressions with what each of them means, written down as plain sets and conditions, so that a slow and
// obvious evaluator can say when they fire.

/** A day as a calendar shows it; weekday 0 is Sunday. */
export interface PlainDay {
  year: number;
  month: number;
  day: number;
  weekday: number;
  /** Of its month. */
  length: number;
}

export interface RandomCron {
  text: string;
  seconds: ReadonlySet<number>;
  minutes: ReadonlySet<number>;
  hours: ReadonlySet<number>;
  /** Whether year, month and day match. */
  onDay: (day: PlainDay) => boolean;
  /** Hour or minute is a star, has a step, or has every value. */
  interval: boolean;
}

interface Field {
  text: string;
  values: Set<number>;
  star: boolean;
  interval: boolean;
}

interface FieldShape {
  min: number;
  max: number;
  /** Ranges go past the end, and 5/15 goes to the end. */
  quartz: boolean;
  names?: readonly string[];
}

const months = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const weekdays = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

/** From a to b, around the end when b is smaller; every step-th. */
function walk(a: number, b: number, step: number, { min, max }: FieldShape): number[] {
  const all: number[] = [];
  for (let value = a; ; value = value === max ? min : value + 1) {
    all.push(value);
    if (value === b) return all.filter((_, index) => index % step === 0);
  }
}

function itemOf(shape: FieldShape): fc.Arbitrary<Omit<Field, 'star'>> {
  const { min, max, quartz, names } = shape;
  const value = fc.integer({ min, max });
  const name = (number: number): string => names?.[number - min] ?? String(number);
  const step = fc.integer({ min: 1, max: Math.min(max - min, 31) });
  const pair = fc.tuple(value, value).map(([a, b]) => (quartz || a <= b ? [a, b] : [b, a]) as [number, number]);
  const kinds = [
    value.map((a) => ({ text: String(a), values: new Set([a]), interval: false })),
    pair.map(([a, b]) => ({ text: `${a}-${b}`, values: new Set(walk(a, b, 1, shape)), interval: false })),
    fc.tuple(pair, step).map(([[a, b], n]) => ({ text: `${a}-${b}/${n}`, values: new Set(walk(a, b, n, shape)), interval: true })),
  ];
  if (names !== undefined) kinds.push(pair.map(([a, b]) => ({ text: `${name(a)}-${name(b)}`, values: new Set(walk(a, b, 1, shape)), interval: false })));
  if (quartz) kinds.push(fc.tuple(value, step).map(([a, n]) => ({ text: `${a}/${n}`, values: new Set(walk(a, max, n, shape)), interval: true })));
  return fc.oneof(...kinds);
}

function fieldOf(shape: FieldShape): fc.Arbitrary<Field> {
  const { min, max } = shape;
  const all = walk(min, max, 1, shape);
  return fc.oneof(
    fc.constant({ text: '*', values: new Set(all), star: true, interval: true }),
    fc.integer({ min: 1, max: Math.min(max - min, 31) }).map((n) => ({ text: `*/${n}`, values: new Set(walk(min, max, n, shape)), star: true, interval: true })),
    fc.array(itemOf(shape), { minLength: 1, maxLength: 3 }).map((items) => {
      const values = new Set(items.flatMap((item) => [...item.values]));
      return { text: items.map((item) => item.text).join(','), values, star: false, interval: items.some((item) => item.interval) || values.size === all.length };
    }),
  );
}

const unixShapes = {
  minute: { min: 0, max: 59, quartz: false },
  hour: { min: 0, max: 23, quartz: false },
  day: { min: 1, max: 31, quartz: false },
  month: { min: 1, max: 12, quartz: false, names: months },
  weekday: { min: 0, max: 7, quartz: false, names: weekdays },
};

/** Five fields. */
export const unixCrons: fc.Arbitrary<RandomCron> = fc
  .tuple(fieldOf(unixShapes.minute), fieldOf(unixShapes.hour), fieldOf(unixShapes.day), fieldOf(unixShapes.month), fieldOf(unixShapes.weekday))
  .map(([minute, hour, day, month, weekday]) => ({
    text: [minute, hour, day, month, weekday].map(({ text }) => text).join(' '),
    seconds: new Set([0]),
    minutes: minute.values,
    hours: hour.values,
    onDay: (date) => {
      if (!month.values.has(date.month)) return false;
      const fits = [day.values.has(date.day), weekday.values.has(date.weekday) || (date.weekday === 0 && weekday.values.has(7))];
      return day.star || weekday.star ? fits.every(Boolean) : fits.some(Boolean);
    },
    interval: minute.interval || hour.interval,
  }));

interface DayPart {
  text: string;
  fits: (day: PlainDay) => boolean;
}

/** The weekday from Monday to Friday, within the month, that is nearest to the named day, if the month has that day. */
function isNearest(named: number, { day, weekday, length }: PlainDay): boolean {
  if (named < 1 || named > length) return false;
  const work = Array.from({ length }, (_, index) => index + 1).filter((other) => ![0, 6].includes((((weekday + other - day) % 7) + 7) % 7));
  return work.toSorted((a, b) => Math.abs(a - named) - Math.abs(b - named))[0] === day;
}

const dateParts: fc.Arbitrary<DayPart> = fc.oneof(
  fieldOf({ min: 1, max: 31, quartz: true }).map(({ text, values }) => ({ text, fits: ({ day }: PlainDay) => values.has(day) })),
  fc.integer({ min: 0, max: 30 }).map((n) => ({ text: n === 0 ? 'L' : `L-${n}`, fits: ({ day, length }: PlainDay) => day === length - n })),
  fc.tuple(fc.integer({ min: 1, max: 31 }), fc.integer({ min: 1, max: 31 })).map(([a, n]) => ({ text: `${a},L-${n - 1}`, fits: ({ day, length }: PlainDay) => day === a || day === length - n + 1 })),
);

const nearestParts: fc.Arbitrary<DayPart> = fc.oneof(
  fc.integer({ min: 1, max: 31 }).map((n) => ({ text: `${n}W`, fits: (day: PlainDay) => isNearest(n, day) })),
  fc.integer({ min: 0, max: 30 }).map((n) => ({ text: n === 0 ? 'LW' : `L-${n}W`, fits: (day: PlainDay) => isNearest(day.length - n, day) })),
  fc.tuple(fc.integer({ min: 1, max: 31 }), fc.integer({ min: 1, max: 31 })).map(([a, b]) => ({ text: `${a},${b}W`, fits: (day: PlainDay) => day.day === a || isNearest(b, day) })),
);

const weekdayParts: fc.Arbitrary<DayPart> = fc.oneof(
  fieldOf({ min: 1, max: 7, quartz: true, names: weekdays })
    .filter(({ text }) => text !== '*')
    .map(({ text, values }) => ({ text, fits: ({ weekday }: PlainDay) => values.has(weekday + 1) })),
  fc.constant({ text: 'L', fits: ({ weekday }: PlainDay) => weekday === 6 }),
  fc.tuple(fc.integer({ min: 1, max: 7 }), fc.boolean()).map(([n, named]) => ({ text: `${named ? weekdays[n - 1] : n}L`, fits: ({ weekday, day, length }: PlainDay) => weekday === n - 1 && day > length - 7 })),
  fc.tuple(fc.integer({ min: 1, max: 7 }), fc.integer({ min: 1, max: 5 })).map(([n, k]) => ({ text: `${n}#${k}`, fits: ({ weekday, day }: PlainDay) => weekday === n - 1 && Math.ceil(day / 7) === k })),
);

const years: fc.Arbitrary<{ text: string; fits: (year: number) => boolean }> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ text: '', fits: () => true }) },
  { weight: 1, arbitrary: fc.integer({ min: 2024, max: 2030 }).map((n) => ({ text: ` ${n}`, fits: (year: number) => year === n })) },
  { weight: 1, arbitrary: fc.tuple(fc.integer({ min: 2020, max: 2026 }), fc.integer({ min: 0, max: 5 }), fc.integer({ min: 1, max: 3 })).map(([a, n, step]) => ({ text: ` ${a}-${a + n}/${step}`, fits: (year: number) => year >= a && year <= a + n && (year - a) % step === 0 })) },
);

const sixty = fieldOf({ min: 0, max: 59, quartz: true });
const hours = fieldOf({ min: 0, max: 23, quartz: true });

function quartzOf(second: fc.Arbitrary<Field>, minute: fc.Arbitrary<Field>, hour: fc.Arbitrary<Field>, dayFields: fc.Arbitrary<DayPart>): fc.Arbitrary<RandomCron> {
  return fc.tuple(second, minute, hour, dayFields, fieldOf({ min: 1, max: 12, quartz: true, names: months }), years).map(([seconds, minutes, hour_, days, month, year]) => ({
    text: `${seconds.text} ${minutes.text} ${hour_.text} ${days.text.replace('MONTH', month.text)}${year.text}`,
    seconds: seconds.values,
    minutes: minutes.values,
    hours: hour_.values,
    onDay: (date) => year.fits(date.year) && month.values.has(date.month) && days.fits(date),
    interval: minutes.interval || hour_.interval,
  }));
}

const single = (max: number): fc.Arbitrary<Field> => fc.integer({ min: 0, max }).map((n) => ({ text: String(n), values: new Set([n]), star: false, interval: false }));

/** Six or seven fields. Of those with W only ones with a single time a day: Quartz goes an own way with several. */
export const quartzCrons: fc.Arbitrary<RandomCron> = fc.oneof(
  { weight: 3, arbitrary: quartzOf(sixty, sixty, hours, dateParts.map(({ text, fits }) => ({ text: `${text} MONTH ?`, fits }))) },
  { weight: 1, arbitrary: quartzOf(single(59), single(59), single(23), nearestParts.map(({ text, fits }) => ({ text: `${text} MONTH ?`, fits }))) },
  { weight: 3, arbitrary: quartzOf(sixty, sixty, hours, weekdayParts.map(({ text, fits }) => ({ text: `? MONTH ${text}`, fits }))) },
);
