import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { credentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadSettings } from '../../shared/config/load-settings.js';
import { contract } from '../../shared/grpc/contract.js';
import type { ListFeedbackResponse__Output } from '../../shared/grpc/generated/lts/v1/ListFeedbackResponse.js';
import type { ListQueuesResponse__Output } from '../../shared/grpc/generated/lts/v1/ListQueuesResponse.js';
import { silentLogger } from '../../shared/log/logger.js';
import { systemClock } from '../../shared/time/clock.js';
import { startPostgres } from '../../test/kit/postgres.js';
import { JobClient, type JobResult, type NewJob } from '../job-client/index.js';
import { type RunningStandalone, startStandalone } from './app.js';
import { standaloneSettings } from './config.js';

const folder = mkdtempSync(join(tmpdir(), 'standalone-'));
const config = (flags: Record<string, unknown> = {}) =>
  loadSettings(standaloneSettings, { flags: { listen: '127.0.0.1:0', trackerListen: '127.0.0.1:0', dataDir: join(folder, 'data'), ...flags }, env: {} }).values;
let suite: RunningStandalone;
let client: JobClient;
const waiting = new Map<string, (result: JobResult) => void>();

/** Submits one job through the gateway and waits for its result. */
async function run(taskId: string, job: Partial<NewJob>): Promise<JobResult> {
  const ended = new Promise<JobResult>((resolve) => waiting.set(taskId, resolve));
  await client.submit({ task_id: taskId, node_group: 'demo', need_feedback: true, ...job });
  return ended;
}

beforeAll(async () => {
  suite = await startStandalone(config(), { log: silentLogger });
  client = new JobClient({ gateway: suite.address, nodeGroup: 'test' });
  client.onResult((result) => waiting.get(result.task_id)?.(result));
});

afterAll(async () => {
  await client.close();
  await suite.drain();
  rmSync(folder, { recursive: true });
});

describe('the suite in one process', () => {
  it('tells where it is and what to try', () => {
    expect(suite.address).toMatch(/^127\.0\.0\.1:\d+$/);
    const text = suite.lines.join('\n');
    expect(text).toContain(suite.trackerAddress);
    expect(text).toMatch(/lts job submit .* --target 127/);
    expect(text).toContain(`http://${suite.address}/lts.v1.JobService/SubmitJob`);
  });

  it('runs its samples', async () => {
    expect(await run('echo', { type: 'echo', payload: 'hello' })).toMatchObject({ state: 'INSTANCE_STATE_SUCCEEDED', message: 'hello' });
    expect(await run('default', { payload: 'no type' })).toMatchObject({ message: 'no type' });
    expect(await run('sleep', { type: 'sleep', payload: '20ms' })).toMatchObject({ message: 'slept 20 ms' });
    expect(await run('bad sleep', { type: 'sleep', payload: 'long', max_retry_times: 5 })).toMatchObject({ state: 'INSTANCE_STATE_FAILED', attempt: 1 });
    expect(await run('fail', { type: 'fail', payload: 'so', max_retry_times: 1, retry_policy: { delay: 1 } })).toMatchObject({ state: 'INSTANCE_STATE_FAILED', message: expect.stringContaining('so'), attempt: 2 });
    expect(await run('fail for good', { type: 'fail-for-good', max_retry_times: 1 })).toMatchObject({ state: 'INSTANCE_STATE_FAILED', attempt: 1 });
    expect(await run('later', { type: 'later', payload: '1ms', max_retry_times: 1 })).toMatchObject({ message: 'ran after 1 retries', attempt: 2 });
    const sum = await run('sum', { type: 'checksum', payload: 'a b\nc' });
    expect(JSON.parse(sum.message)).toEqual({ sha256: '24b366cf6891c1a7ba83804c7632b71c9d86cf530908a052bf08d0e128602da8', bytes: 5, lines: 2, words: 3 });
  });

  it('counts nothing as waiting once it was replaced by a job that ran at once', async () => {
    const job = { type: 'echo', replace_on_exist: true };
    await client.submit({ task_id: 'debounced', node_group: 'demo', ...job, trigger_time: systemClock.now() + 3_600_000 });
    expect(await run('debounced', { ...job, payload: 'now' })).toMatchObject({ message: 'now' });
    const admin = new contract.AdminService(suite.trackerAddress, credentials.createInsecure());
    const queues = await new Promise<ListQueuesResponse__Output | undefined>((resolve) => admin.listQueues({ node_group: 'demo' }, (_error, response) => resolve(response)));
    admin.close();
    expect(queues?.queues[0]).toMatchObject({ waiting: 0, ready: 0, executing: 0 });
  });

  it('owes nothing of what a client took before it was closed', async () => {
    const admin = new contract.AdminService(suite.trackerAddress, credentials.createInsecure());
    const owed = (group: string) => new Promise<ListFeedbackResponse__Output | undefined>((resolve) => admin.listFeedback({ submit_node_group: group }, (_error, response) => resolve(response)));
    for (const [group, way] of [['through', { gateway: suite.address }], ['straight', { trackers: [suite.trackerAddress] }]] as const) {
      const leaving = new JobClient({ ...way, nodeGroup: group });
      const ended = new Promise<JobResult>((resolve) => leaving.onResult(resolve));
      await leaving.submit({ task_id: group, node_group: 'demo', need_feedback: true, type: 'echo', payload: 'hello' });
      expect(await ended).toMatchObject({ message: 'hello' });
      await leaving.close();
      expect(await owed(group)).toMatchObject({ entries: [] });
    }
    admin.close();
  });

  it('leaves its data to the next start', async () => {
    const due = systemClock.now() + 500;
    const ended = new Promise<JobResult>((resolve) => waiting.set('survivor', resolve));
    await client.submit({ task_id: 'survivor', node_group: 'demo', need_feedback: true, type: 'echo', payload: 'still here', trigger_time: due });
    await client.close();
    await suite.drain();
    suite = await startStandalone(config(), { log: silentLogger });
    client = new JobClient({ gateway: suite.address, nodeGroup: 'test' });
    client.onResult((result) => waiting.get(result.task_id)?.(result));
    expect(await ended).toMatchObject({ message: 'still here' });
  });

  it('says who holds the data when it is started twice, and leaves the first one alone', async () => {
    await expect(startStandalone(config(), { log: silentLogger })).rejects.toMatchObject({ reason: 'STORE_LOCKED' });
    expect(await run('after', { type: 'echo', payload: 'ok' })).toMatchObject({ message: 'ok' });
  });

  it('keeps its jobs in a PostgreSQL when told to', async () => {
    const server = await startPostgres();
    const beside = await startStandalone(config({ dataDir: join(folder, 'beside'), store: 'postgres', postgresUrl: server.url }), { log: silentLogger });
    const other = new JobClient({ gateway: beside.address, nodeGroup: 'test' });
    const ended = new Promise<JobResult>((resolve) => other.onResult(resolve));
    await other.submit({ task_id: 'kept', node_group: 'demo', need_feedback: true, type: 'echo', payload: 'hello' });
    expect(await ended).toMatchObject({ task_id: 'kept', state: 'INSTANCE_STATE_SUCCEEDED', message: 'hello' });
    await other.close();
    await beside.drain();
    await server.stop();
    expect(existsSync(join(folder, 'beside', 'queue.db'))).toBe(false);
  });
});
