import { afterEach, beforeEach, describe } from 'vitest';
import type { MakeBench, StoreBench } from './queue-store-bench.js';
import { admission } from './queue-store-admission.js';
import { alters } from './queue-store-alters.js';
import { cancelling } from './queue-store-cancelling.js';
import { fires } from './queue-store-fires.js';
import { leftRuns } from './queue-store-left.js';
import { limits } from './queue-store-limits.js';
import { model } from './queue-store-model.js';
import { ownership } from './queue-store-ownership.js';
import { queries } from './queue-store-queries.js';
import { results } from './queue-store-results.js';
import { runs } from './queue-store-runs.js';
import { schedules } from './queue-store-schedules.js';

/** What every adapter of QueueStore has to do. */
export function queueStoreConformance(name: string, make: MakeBench): void {
  describe(`QueueStore on ${name}`, () => {
    let bench: StoreBench | undefined;
    beforeEach(async () => {
      bench = await make();
    });
    afterEach(async () => {
      await bench?.destroy();
      bench = undefined;
    });
    const current = (): StoreBench => {
      if (bench === undefined) throw new Error('no bench');
      return bench;
    };
    describe('ownership', () => {
      ownership(current);
    });
    describe('admission', () => {
      admission(current);
    });
    describe('runs', () => {
      runs(current);
    });
    describe('cancel', () => {
      cancelling(current);
    });
    describe('results, logs and retention', () => {
      results(current);
    });
    describe('limits', () => {
      limits(current);
    });
    describe('schedules', () => {
      schedules(current);
    });
    describe('fires of schedules', () => {
      fires(current);
    });
    describe('changes of schedules', () => {
      alters(current);
    });
    describe('many runs that end', () => {
      leftRuns(current);
    });
    describe('queries', () => {
      queries(current);
    });
    describe('model', () => {
      model(current);
    });
  });
}
