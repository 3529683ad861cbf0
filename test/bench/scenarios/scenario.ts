import type { Work } from '../contender.js';
import type { Options } from '../options.js';
import type { Standing } from './rounds.js';

/** One kind of question that the benchmark asks. */
export interface Scenario {
  /** The work of one round. */
  work(options: Options): Work;
  headings: string[];
  /** One row of the table; ratios are against `ours`. */
  row(standing: Standing, ours: Standing): string[];
}
