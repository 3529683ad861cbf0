import { LtsError } from '../errors/lts-error.js';
import { quoted } from '../errors/quoted.js';

/**
 * A stretch of time in which a zone's clocks run without a jump. Stretches also end where a table of offsets ends,
 * without a jump. Milliseconds; an offset is what local time has more than UTC.
 */
export interface Stretch {
  readonly start: number;
  /** The first instant after it. */
  readonly end: number;
  readonly offset: number;
  /** The offset just before `start`, and from `end` on. */
  readonly before: number;
  readonly after: number;
}

/** A time zone: which stretch an instant lies in. */
export interface Zone {
  /** As it was asked for; UTC for ''. */
  readonly name: string;
  at(instant: number): Stretch;
}

/** One table of offsets spans about 398 days. It ends between two whole seconds, where no zone changes its offset. */
const tableMs = 2 ** 35;
/** Three days. No zone has changed its offset twice within seven days since 1970, so no change is missed. */
const sampleMs = 2 ** 28;

/**
 * Offsets come from Intl, which costs about a microsecond per question: so each table is made once, by samples and
 * bisection, and only for the years that somebody asks for.
 */
class IanaZone implements Zone {
  readonly name: string;
  readonly #format: Intl.DateTimeFormat;
  readonly #tables = new Map<number, Stretch[]>();
  #last: Stretch | undefined;

  constructor(name: string, format: Intl.DateTimeFormat) {
    this.name = name;
    this.#format = format;
  }

  at(instant: number): Stretch {
    if (this.#last !== undefined && instant >= this.#last.start && instant < this.#last.end) return this.#last;
    const index = Math.floor(instant / tableMs);
    let table = this.#tables.get(index);
    if (table === undefined) {
      table = this.#makeTable(index * tableMs);
      this.#tables.set(index, table);
    }
    const found = table.find(({ end }) => instant < end);
    if (found === undefined) throw new LtsError('INTERNAL', `no offset of ${this.name} at ${instant}`);
    this.#last = found;
    return found;
  }

  #makeTable(start: number): Stretch[] {
    const stretches: Stretch[] = [];
    const first = this.#offset(start);
    let open = { start, offset: first, before: first };
    for (let sample = start; sample < start + tableMs; sample += sampleMs) {
      const after = this.#offset(sample + sampleMs);
      if (after === open.offset) continue;
      const change = this.#changeBetween(sample, sample + sampleMs, open.offset);
      stretches.push({ ...open, end: change, after });
      open = { start: change, offset: after, before: open.offset };
    }
    return [...stretches, { ...open, end: start + tableMs, after: open.offset }];
  }

  /** The first instant, in whole seconds, whose offset is not `offset`. It lies after `low`, and not after `high`. */
  #changeBetween(low: number, high: number, offset: number): number {
    let [before, after] = [Math.floor(low / 1_000), Math.ceil(high / 1_000)];
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2);
      if (this.#offset(middle * 1_000) === offset) before = middle;
      else after = middle;
    }
    return after * 1_000;
  }

  #offset(instant: number): number {
    const match = /GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/.exec(this.#format.format(instant));
    if (match === null) throw new LtsError('INTERNAL', `no offset of ${this.name} at ${instant}`);
    const [, sign, hours = '0', minutes = '0', seconds = '0'] = match;
    return (sign === '-' ? -1 : 1) * ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1_000;
  }
}

const always: Stretch = { start: -Infinity, end: Infinity, offset: 0, before: 0, after: 0 };
const utc: Zone = { name: 'UTC', at: () => always };

/** By lower-case name: Intl takes any case, and only names that it knows get in here, so it stays small. */
const known = new Map<string, Zone>([['', utc], ['utc', utc]]);

/** The zone of an IANA name; '' is UTC. Throws INVALID_ARGUMENT. */
export function zoneOf(name: string): Zone {
  const key = name.toLowerCase();
  let zone = known.get(key);
  if (zone === undefined) {
    zone = new IanaZone(name, formatOf(name));
    known.set(key, zone);
  }
  return zone;
}

function formatOf(name: string): Intl.DateTimeFormat {
  // Intl of newer versions takes +05:30 as well: no zone, and it would let any number of them in.
  if (/^[A-Za-z]/.test(name)) {
    try {
      return new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' });
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  }
  throw new LtsError('INVALID_ARGUMENT', `time zone ${quoted(name)} is not known; use a name of the IANA list such as Europe/Berlin, or leave it empty for UTC`);
}
