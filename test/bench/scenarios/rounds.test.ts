import { expect, test } from 'vitest';
import type { Contender, Measurement, Work } from '../contender.js';
import { alternate } from './rounds.js';

const work: Work = { scenario: 'throughput', jobs: 1, warmUp: 0, batch: 1, inFlight: 1, payload: 0 };
const measurement = (jobsPerSecond: number, lost = 0): Measurement => ({ jobsPerSecond, submitToStartMs: { p50: 1, p99: 2 }, lost, duplicates: 0 });

function fake(name: string, events: string[], results: Measurement[]): Contender {
  return {
    name,
    async start() {
      events.push(`start ${name}`);
    },
    async run() {
      const result = results.shift();
      if (result === undefined) throw new Error('broken');
      return result;
    },
    async stop() {
      events.push(`stop ${name}`);
    },
  };
}

test('contenders take turns, and medians and sums are over their own rounds', async () => {
  const events: string[] = [];
  const a = fake('a', events, [measurement(10), measurement(30, 1), measurement(20, 2)]);
  const b = fake('b', events, [measurement(1), measurement(1), measurement(1)]);
  const standings = await alternate([a, b], work, 3, () => undefined);
  const oneRound = ['start a', 'stop a', 'start b', 'stop b'];
  expect(events).toEqual([...oneRound, ...oneRound, ...oneRound]);
  expect(standings[0]).toMatchObject({ name: 'a', jobsPerSecond: 20, lost: 3 });
});

test('a contender that fails is stopped all the same', async () => {
  const events: string[] = [];
  await expect(alternate([fake('a', events, [])], work, 1, () => undefined)).rejects.toThrow('broken');
  expect(events).toEqual(['start a', 'stop a']);
});
