import { expect, test } from 'vitest';
import { BadArguments, readOptions } from './options.js';

test('defaults follow the scenario', () => {
  expect(readOptions(['--scenario', 'throughput'])).toMatchObject({ jobs: 100_000, batch: 100, inFlight: 4, payload: 100, rounds: 3, peers: false });
  expect(readOptions(['--scenario', 'throughput', '--batch', '1'])).toMatchObject({ batch: 1, inFlight: 64 });
  expect(readOptions(['--scenario', 'latency', '--peers', '--json'])).toMatchObject({ jobs: 500, batch: 1, inFlight: 1, peers: true, json: true });
});

test.each([
  [[], /--scenario is missing; choose throughput or latency/],
  [['--scenario', 'speed'], /--scenario cannot be "speed"; choose throughput or latency/],
  [['--scenario', 'throughput', '--store', 'postgres'], /--store cannot be "postgres"; choose sqlite/],
  [['--scenario', 'throughput', '--jobs', '0'], /--jobs cannot be "0"; give a whole number from 1 to 10000000/],
  [['--scenario', 'throughput', '--batch', '1e2'], /--batch cannot be "1e2"/],
  [['--scenario', 'throughput', '--batch', '1000', '--payload', '9999'], /9999000 bytes a call; the limit is 4194304/],
  [['--scenario', 'latency', '--in-flight', '2'], /belong to --scenario throughput/],
  [['--scenario', 'latency', '--spped'], /--spped/],
  [['throughput'], /throughput/],
])('%j is refused with the way out', (args, message) => {
  expect(() => readOptions(args)).toThrow(BadArguments);
  expect(() => readOptions(args)).toThrow(message);
});
