import { randomBytes } from 'node:crypto';
import { serve } from './child.js';
import { machineNow } from './machine-clock.js';

/** One job: its number is its identity, unique on one store. */
export interface BenchJob {
  number: number;
  /** The same bytes for all jobs; printable, so that they cost the same as text. */
  payload: string;
}

/** The submitting side of a job system. */
export interface Producer {
  /** Submits one batch in one call; resolves when every job of it is acked as durable, throws when one is not. */
  submit(jobs: BenchJob[]): Promise<void>;
  close(): Promise<void>;
}

/** A part of the work: jobs `first` to `first + count - 1`. */
export interface SubmitOrder {
  first: number;
  count: number;
  batch: number;
  inFlight: number;
  payload: number;
}

/** When each job's submit call began, by the machine's clock; index 0 is job `first`. */
export interface Submitted {
  at: Float64Array;
}

/** Makes this process a producer: calls `open` with the contender's settings, then submits what the parent orders. */
export function serveProducer<Settings>(open: (settings: Settings) => Promise<Producer>): void {
  let producer: Producer | undefined;
  serve({
    async open(settings: Settings) {
      producer = await open(settings);
    },
    submit(order: SubmitOrder): Promise<Submitted> {
      if (producer === undefined) throw new Error('submit before open');
      return submitAll(producer, order);
    },
    async close() {
      await producer?.close();
    },
  });
}

/** Keeps `inFlight` calls going until all jobs are submitted; every caller is a loop of its own. */
async function submitAll(producer: Producer, order: SubmitOrder): Promise<Submitted> {
  const at = new Float64Array(order.count);
  const payload = randomBytes(order.payload).toString('base64').slice(0, order.payload);
  let next = 0;
  const caller = async (): Promise<void> => {
    while (next < order.count) {
      const from = next;
      next = Math.min(order.count, from + order.batch);
      const jobs = Array.from({ length: next - from }, (_, index): BenchJob => ({ number: order.first + from + index, payload }));
      at.fill(machineNow(), from, next);
      await producer.submit(jobs);
    }
  };
  await Promise.all(Array.from({ length: order.inFlight }, caller));
  return { at };
}
