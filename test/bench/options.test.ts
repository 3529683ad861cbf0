import { expect, test } from 'vitest';
import { BadArguments } from '../kit/read-arguments.js';
import { readOptions } from './options.js';

test('defaults follow the scenario', () => {
  expect(readOptions(['--scenario', 'throughput'])).toMatchObject({ jobs: 100_000, batch: 100, inFlight: 4, payload: 100, rounds: 3, peers: false });
  expect(readOptions(['--scenario', 'throughput', '--batch', '1'])).toMatchObject({ batch: 1, inFlight: 64 });
  expect(readOptions(['--scenario', 'groups'])).toMatchObject({ store: 'sqlite', jobs: 10_000, batch: 100, inFlight: 4, groups: 200, trackers: 1, rounds: 1 });
  expect(readOptions(['--scenario', 'failover'])).toMatchObject({ store: 'postgres', groups: 16, trackers: 3, rounds: 1 });
  expect(readOptions(['--scenario', 'timers'])).toMatchObject({ store: 'sqlite', schedules: 1_000_000, minutes: 1, groups: 1, trackers: 1 });
  expect(readOptions(['--scenario', 'timers', '--minutes', '0.5'])).toMatchObject({ minutes: 0.5 });
  expect(readOptions(['--scenario', 'waiting'])).toMatchObject({ jobs: 1_000_000 });
  expect(readOptions(['--scenario', 'latency', '--peers', '--json'])).toMatchObject({ jobs: 500, batch: 1, inFlight: 1, peers: true, json: true });
});

test.each([
  [[], /--scenario is missing; choose throughput, latency, groups, failover, timers, waiting/],
  [['--scenario', 'speed'], /--scenario cannot be "speed"; choose throughput, latency, groups, failover, timers, waiting/],
  [['--scenario', 'throughput', '--store', 'oracle'], /--store cannot be "oracle"; choose sqlite, postgres/],
  [['--scenario', 'throughput', '--trackers', '2'], /--trackers 2 needs --store postgres/],
  [['--scenario', 'failover', '--trackers', '1'], /needs --trackers 2 or 3/],
  [['--scenario', 'groups', '--peers'], /--peers belongs to --scenario throughput, latency or timers/],
  [['--scenario', 'throughput', '--jobs', '0'], /--jobs cannot be "0"; give a whole number from 1 to 10000000/],
  [['--scenario', 'throughput', '--batch', '1e2'], /--batch cannot be "1e2"/],
  [['--scenario', 'throughput', '--batch', '1000', '--payload', '9999'], /9999000 bytes a call; the limit is 4194304/],
  [['--scenario', 'latency', '--in-flight', '2'], /belongs to --scenario throughput/],
  [['--scenario', 'waiting', '--minutes', '1'], /--minutes belongs to --scenario timers/],
  [['--scenario', 'timers', '--minutes', '0'], /--minutes cannot be "0"; give a number from 0.05/],
  [['--scenario', 'timers', '--rounds', '2'], /--rounds cannot be "2"/],
  [['--scenario', 'latency', '--spped'], /--spped/],
  [['throughput'], /throughput/],
])('%j is refused with the way out', (args, message) => {
  expect(() => readOptions(args)).toThrow(BadArguments);
  expect(() => readOptions(args)).toThrow(message);
});
