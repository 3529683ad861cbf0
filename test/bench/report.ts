import Table from 'cli-table3';

/** What one scenario found. */
export interface Report {
  /** For people. */
  text: string;
  /** For programs: one line with --json. */
  json: Record<string, unknown>;
  /** Jobs that were lost or ran again without a fault that explains it; undefined: none. */
  fault: string | undefined;
}

/** A table for people. */
export function table(headings: string[], rows: string[][]): string {
  const drawn = new Table({ head: headings, style: { head: [], border: [] }, wordWrap: true });
  drawn.push(...rows);
  return drawn.toString();
}

/** To the microsecond. */
export const roundMs = (ms: number): number => Math.round(ms * 1_000) / 1_000;
