import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CancelJobResponse__Output } from '../../shared/grpc/generated/lts/v1/CancelJobResponse.js';
import type { ListAttemptsResponse__Output } from '../../shared/grpc/generated/lts/v1/ListAttemptsResponse.js';
import type { ListInstancesResponse__Output } from '../../shared/grpc/generated/lts/v1/ListInstancesResponse.js';
import type { ListNodesResponse__Output } from '../../shared/grpc/generated/lts/v1/ListNodesResponse.js';
import type { SubmitJobResponse__Output } from '../../shared/grpc/generated/lts/v1/SubmitJobResponse.js';
import { eventually } from '../kit/eventually.js';
import { Caller } from './caller.js';
import { type PythonProgram, PythonStubs } from './python-program.js';
import { startTrackerAndGateway, type TrackerAndGateway } from './tracker-and-gateway.js';

let stubs: PythonStubs;
let services: TrackerAndGateway;
let caller: Caller;
const programs: PythonProgram[] = [];

function start(program: string, ...args: string[]): PythonProgram {
  const started = stubs.start(program, args);
  programs.push(started);
  return started;
}

const workers = async (group: string): Promise<string[]> => {
  const { nodes } = await caller.call<ListNodesResponse__Output>('AdminService/ListNodes', {});
  return nodes.filter((node) => node.node_group === group && node.kind === 'NODE_KIND_TASK_TRACKER').map((node) => node.state);
};

/** The token under which the worker was told that it is the master of its group. */
const masterToken = async (worker: PythonProgram): Promise<number> => {
  const line = await eventually(() => worker.lines.find((each) => each.startsWith('master self ')), { what: 'a mastership' });
  return Number(line.split(' ')[2]);
};

const submit = (job: object): Promise<SubmitJobResponse__Output> => caller.call('JobService/SubmitJob', { job });

const stateOf = async (group: string, task: string): Promise<string | undefined> => {
  const { instances } = await caller.call<ListInstancesResponse__Output>('AdminService/ListInstances', { node_group: group, task_id: task });
  return instances[0]?.state;
};

beforeAll(async () => {
  stubs = new PythonStubs();
  services = await startTrackerAndGateway(['--ping-interval', '200ms', '--grace', '2s']);
  caller = new Caller(services.trackerAddress);
});

afterAll(async () => {
  for (const program of programs) program.kill();
  caller.close();
  await services.stop();
  stubs.remove();
});

describe.each(['tracker', 'gateway'] as const)('a Python client of the %s and a Python worker', (kind) => {
  it('submit, cancel and run jobs, and bring the results back', async () => {
    const group = `python-${kind}`;
    const client = start('client.py', kind === 'tracker' ? services.trackerAddress : services.gatewayAddress, group);
    await eventually(() => client.output.includes('suspended '), { withinMs: 20_000, what: `the client has submitted: ${client.output}` });
    const worker = start('worker.py', services.trackerAddress, group);
    expect(await client.exited()).toBe(0);

    expect(client.lines.filter((line) => line.startsWith('outcome '))).toEqual([
      ...Array.from({ length: 3 }, () => 'outcome SUBMIT_OUTCOME_ACCEPTED '),
      'outcome SUBMIT_OUTCOME_REJECTED INVALID_ARGUMENT',
    ].map((line) => line.trimEnd()));
    expect(client.lines).toContain('cancel CANCEL_OUTCOME_CANCELLED');
    expect(client.lines.filter((line) => line.startsWith('schedules ') || line.startsWith('suspended '))).toEqual([
      'schedules nightly 0 3 * * * SCHEDULE_STATE_ACTIVE',
      'suspended SCHEDULE_STATE_SUSPENDED 0',
    ]);
    expect(client.lines.filter((line) => line.startsWith('result ')).sort()).toEqual([
      ...[0, 1, 2].map((n) => `result batch-${n} INSTANCE_STATE_SUCCEEDED batch-${n} got ${n}`),
      'result hello INSTANCE_STATE_SUCCEEDED hello got world',
      'result later INSTANCE_STATE_CANCELLED cancelled before it ran',
    ]);
    expect(await workers(group)).toEqual(['NODE_STATE_ONLINE']);

    worker.kill('SIGTERM');
    expect(await worker.exited()).toBe(0);
    expect(await workers(group)).toEqual([]);
  });
});

describe('a Python worker', () => {
  it('stops a run that is cancelled', async () => {
    const group = 'python-cancel';
    const worker = start('worker.py', services.trackerAddress, group);
    await submit({ task_id: 'long', node_group: group, type: 'wait' });
    await eventually(async () => (await stateOf(group, 'long')) === 'INSTANCE_STATE_EXECUTING');
    const { outcome } = await caller.call<CancelJobResponse__Output>('JobService/CancelJob', { task_id: 'long', node_group: group });
    expect(outcome).toBe('CANCEL_OUTCOME_CANCELLING');
    await eventually(async () => (await stateOf(group, 'long')) === 'INSTANCE_STATE_CANCELLED');
    worker.kill();
  });

  it('finishes what runs before it leaves', async () => {
    const group = 'python-leave';
    const worker = start('worker.py', services.trackerAddress, group);
    await submit({ task_id: 'brief', node_group: group, type: 'wait', payload: Buffer.from('0.7') });
    await eventually(async () => (await stateOf(group, 'brief')) === 'INSTANCE_STATE_EXECUTING');
    worker.kill('SIGTERM');
    expect(await worker.exited()).toBe(0);
    expect(await stateOf(group, 'brief')).toBe('INSTANCE_STATE_SUCCEEDED');
  });

  it('that is killed loses its run to another one', async () => {
    const group = 'python-killed';
    const first = start('worker.py', services.trackerAddress, group);
    const { result } = await submit({ task_id: 'moved', node_group: group, type: 'wait', payload: Buffer.from('0.5') });
    await eventually(async () => (await stateOf(group, 'moved')) === 'INSTANCE_STATE_EXECUTING');
    const before = await masterToken(first);
    first.kill();
    const second = start('worker.py', services.trackerAddress, group);
    await eventually(async () => (await stateOf(group, 'moved')) === 'INSTANCE_STATE_SUCCEEDED', { withinMs: 15_000 });
    expect(await masterToken(second)).toBeGreaterThan(before);
    const { attempts } = await caller.call<ListAttemptsResponse__Output>('AdminService/ListAttempts', { instance_id: result?.instance_id });
    expect(attempts.map(({ attempt, outcome }) => [attempt, outcome])).toEqual([[1, 'ATTEMPT_OUTCOME_LOST'], [2, 'ATTEMPT_OUTCOME_SUCCESS']]);
  });
});
