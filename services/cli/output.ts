import Table from 'cli-table3';

/** How data is printed. */
export type OutputForm = 'table' | 'json';

/** Rows for people: a heading per column, texts and numbers in the cells. */
export interface Rows {
  head: string[];
  rows: (string | number)[][];
}

const bare = {
  top: '', 'top-mid': '', 'top-left': '', 'top-right': '', bottom: '', 'bottom-mid': '', 'bottom-left': '', 'bottom-right': '',
  left: '', 'left-mid': '', mid: '', 'mid-mid': '', right: '', 'right-mid': '', middle: '  ',
};

/** Data goes to standard output, messages to standard error, so that data can be piped. */
export class Output {
  readonly #form: OutputForm;

  constructor(form: OutputForm) {
    this.#form = form;
  }

  /** Prints `json` as one JSON document, or what `table` makes for people. */
  data(json: unknown, table: () => Rows | string): void {
    if (this.#form === 'json') return this.#line(JSON.stringify(json, forJson, 2));
    const shown = table();
    this.#line(typeof shown === 'string' ? shown : formatRows(shown));
  }

  /** Prints one item of a stream: one line of JSON, or a line for people. */
  item(json: unknown, line: () => string): void {
    this.#line(this.#form === 'json' ? JSON.stringify(json, forJson) : line());
  }

  message(text: string): void {
    process.stderr.write(`${text}\n`);
  }

  #line(text: string): void {
    if (text !== '') process.stdout.write(`${text}\n`);
  }
}

/** A cell is one line: the first of a text that has more, such as a stack. */
function toCell(value: string | number): string {
  const [first = '', ...more] = String(value).trimEnd().split(/\r?\n/);
  return more.length > 0 ? `${first} …` : first;
}

/** Rows in columns without borders. */
export function formatRows({ head, rows }: Rows): string {
  const table = new Table({ head, chars: bare, style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 } });
  table.push(...rows.map((row) => row.map(toCell)));
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

/** One record for people: a name and a value per line; empty values are left out. */
export function formatRecord(entries: [string, string | number][]): string {
  const shown = entries.filter(([, value]) => value !== '');
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n');
}

/** Bytes as base64, as in the JSON form of protobuf; the marks of oneofs and optional fields are left out. */
function forJson(key: string, value: unknown): unknown {
  if (key === `_${String(value)}`) return undefined;
  if (typeof value === 'object' && value !== null && 'type' in value && value.type === 'Buffer' && 'data' in value) {
    return Buffer.from(value.data as number[]).toString('base64');
  }
  return value;
}

/** INSTANCE_STATE_READY is READY for people. */
export function shortName(name: string | undefined, prefix: string): string {
  return name?.startsWith(`${prefix}_`) ? name.slice(prefix.length + 1) : (name ?? '');
}

/** Milliseconds since 1970 as ISO 8601 in UTC; '' for 0. What no calendar has stays a number. */
export function formatTime(ms: number): string {
  if (ms === 0) return '';
  return ms > 8_640_000_000_000_000 ? String(ms) : new Date(ms).toISOString();
}
