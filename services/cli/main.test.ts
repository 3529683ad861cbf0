import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Server } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LtsError } from '../../shared/errors/lts-error.js';
import { contract } from '../../shared/grpc/contract.js';
import type { CancelJobRequest__Output } from '../../shared/grpc/generated/lts/v1/CancelJobRequest.js';
import type { GetScheduleRequest__Output } from '../../shared/grpc/generated/lts/v1/GetScheduleRequest.js';
import type { ListSchedulesRequest__Output } from '../../shared/grpc/generated/lts/v1/ListSchedulesRequest.js';
import type { Schedule } from '../../shared/grpc/generated/lts/v1/Schedule.js';
import type { TriggerScheduleRequest__Output } from '../../shared/grpc/generated/lts/v1/TriggerScheduleRequest.js';
import type { GetInstanceRequest__Output } from '../../shared/grpc/generated/lts/v1/GetInstanceRequest.js';
import type { GetInstanceResponse } from '../../shared/grpc/generated/lts/v1/GetInstanceResponse.js';
import type { ListInstancesRequest__Output } from '../../shared/grpc/generated/lts/v1/ListInstancesRequest.js';
import type { ListLogsRequest__Output } from '../../shared/grpc/generated/lts/v1/ListLogsRequest.js';
import type { SubmitJobRequest__Output } from '../../shared/grpc/generated/lts/v1/SubmitJobRequest.js';
import type { SubmitJobsRequest__Output } from '../../shared/grpc/generated/lts/v1/SubmitJobsRequest.js';
import { createHandlers } from '../../shared/grpc/handlers.js';
import { createServer, listen, shutDown } from '../../shared/grpc/listen.js';
import { silentLogger } from '../../shared/log/logger.js';
import { eventually } from '../../test/kit/eventually.js';
import { packageRoot } from '../../shared/package-root.js';

// The real command as a process, against a server that answers from a script.

interface Ended {
  code: number;
  out: string;
  err: string;
}

const handlers = createHandlers(silentLogger);
const folder = mkdtempSync(join(tmpdir(), 'lts-cli-'));
let server: Server;
let target: string;
let elsewhere: Server;
let ownerAddress = '';
let looks = 0;

function run(args: string[], env: Record<string, string> = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const environment = { PATH: process.env['PATH'], LTS_TARGET: target, ...env };
    execFile(process.execPath, [join(packageRoot, 'dist/services/cli/main.js'), ...args], { env: environment, timeout: 20_000 }, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code), out, err });
    });
  });
}

const jobService = {
  SubmitJob: handlers.unary(({ job }: SubmitJobRequest__Output) => {
    if (job?.task_id === 'full') throw new LtsError('BACKLOG_FULL', 'the group g has 5 jobs, its limit is 5');
    if (job?.task_id === 'moved' && ownerAddress !== '') throw new LtsError('NOT_OWNER', 'not here', { owner: ownerAddress });
    if (job?.node_group === 'taken') return { result: { instance_id: job.instance_id, outcome: 'SUBMIT_OUTCOME_DUPLICATE_IGNORED' as const, existing_instance_id: 'i-there' } };
    return { result: { instance_id: job?.instance_id ?? '', outcome: 'SUBMIT_OUTCOME_ACCEPTED' as const } };
  }),
  SubmitJobs: handlers.unary(({ jobs }: SubmitJobsRequest__Output) => ({
    results: jobs.map((job) =>
      job.task_id === 'bad'
        ? { outcome: 'SUBMIT_OUTCOME_REJECTED' as const, reason: 'INVALID_ARGUMENT', message: 'no' }
        : { instance_id: job.instance_id, outcome: 'SUBMIT_OUTCOME_ACCEPTED' as const },
    ),
  })),
  CancelJob: handlers.unary((request: CancelJobRequest__Output) => {
    if (request.task_id === 'over') throw new LtsError('INSTANCE_NOT_FOUND', 'there is no such task');
    return { outcome: 'CANCEL_OUTCOME_CANCELLED' as const, instance_ids: [request.instance_id || request.task_id, request.node_group] };
  }),
};

const adminService = {
  GetInstance: handlers.unary((request: GetInstanceRequest__Output): GetInstanceResponse => {
    if (request.task_id === 'over') return { instance: { instance_id: 'i-over', job: { task_id: 'over' }, state: 'INSTANCE_STATE_CANCELLED', message: 'by hand\nat x' } };
    if (request.instance_id === 'i-runs') return { instance: { instance_id: 'i-runs', state: 'INSTANCE_STATE_EXECUTING', task_tracker: 'w1' } };
    if (request.instance_id === 'i-covered') return { instance: { instance_id: 'i-covered', state: 'INSTANCE_STATE_CANCELLING', task_tracker: 'w1', message: 'covered by run i-new' } };
    if (request.instance_id === 'i-over') return { instance: { instance_id: 'i-over', state: 'INSTANCE_STATE_FAILED', message: 'boom\nat x' } };
    if (request.instance_id === 'none') throw new LtsError('INSTANCE_NOT_FOUND', 'there is no instance none');
    const done = ++looks > 2;
    return {
      instance: {
        instance_id: request.instance_id,
        job: { task_id: 't', node_group: 'of-the-job', payload: Buffer.from('hi'), priority: 7 },
        state: done ? 'INSTANCE_STATE_SUCCEEDED' : 'INSTANCE_STATE_EXECUTING',
        message: 'the result',
        created_at: 1_700_000_000_000,
      },
    };
  }),
  ListAttempts: handlers.unary(() => ({ attempts: [{ attempt: 1, task_tracker: 'w1', ended_at: 1, outcome: 'ATTEMPT_OUTCOME_EXCEPTION' as const, message: 'boom' }] })),
  ListInstances: handlers.unary((request: ListInstancesRequest__Output) => ({
    instances: Array.from({ length: Math.min(request.page_size, 3) }, (_, i) => ({ instance_id: `${request.states.join()}${request.page_token}${i}` })),
    next_page_token: request.page_token === '' ? 'p' : '',
  })),
  ListLogs: handlers.unary((request: ListLogsRequest__Output) => ({
    lines: [{ attempt: 1, at: 1_700_000_000_000, level: 'LOG_LEVEL_WARN' as const, text: `page ${request.page_token}` }],
    next_page_token: request.page_token === '' ? 'two' : '',
  })),
  ExplainInstance: handlers.unary((request: { instance_id: string }) => (request.instance_id === 'i-away' ? { instance_id: 'i-away', causes: [{ reason: 'WAIT_REASON_STORE_AWAY' as const, message: 'no answer' }] } : { instance_id: request.instance_id })),
  ResendFeedback: handlers.unary((request: { feedback_ids: string[] }) => ({ resent: request.feedback_ids.filter((id) => id.startsWith('dead')).length })),
  GetCluster: handlers.unary(() => ({
    cluster: 'c',
    map: { trackers: [{ node_id: 'a' }, { node_id: 'b' }] },
    tzdata: [{ node_id: 'a', version: '2025b' }, { node_id: 'b', version: '2024a' }],
  })),
  ListNodes: handlers.unary(() => ({ nodes: [{ kind: 'NODE_KIND_JOB_TRACKER' as const, node_id: 'a', tzdata: '2025b' }, { kind: 'NODE_KIND_JOB_TRACKER' as const, node_id: 'b', tzdata: '2024a' }] })),
  ListQueues: handlers.unary(() => ({ queues: [{ node_group: 'demo', ready: 4, workers: 2, limits: { max_running: 3 } }] })),
};

const schedule = (name: { task_id: string; node_group: string }): Schedule => ({
  schedule_id: 's-1',
  job: { ...name, cron_expression: '0 3 * * *', time_zone: 'Europe/Berlin', misfire_policy: { action: 'MISFIRE_ACTION_SKIP' } },
  state: 'SCHEDULE_STATE_ACTIVE',
  next_fire_time: 1_700_000_000_000,
  next_fire_times: [1_700_000_000_000, 1_700_086_400_000],
  fire_count: 4,
});

const scheduleService = {
  GetSchedule: handlers.unary((request: GetScheduleRequest__Output) => {
    if (request.task_id === 'none' || (request.task_id === 'over' && request.live_only)) throw new LtsError('NOT_FOUND', 'there is no such schedule');
    return { schedule: request.task_id === 'over' ? { ...schedule(request), state: 'SCHEDULE_STATE_OVER' as const, ended_at: 1_700_000_000_000 } : schedule(request) };
  }),
  ListSchedules: handlers.unary((request: ListSchedulesRequest__Output) => ({
    schedules: Array.from({ length: Math.min(request.page_size, 2) }, (_, n) => schedule({ task_id: `${request.state}${request.page_token}${n}`, node_group: request.node_group })),
    next_page_token: request.page_token === '' ? 'p' : '',
  })),
  SuspendSchedule: handlers.unary((request: GetScheduleRequest__Output) => ({ schedule: { ...schedule(request), state: 'SCHEDULE_STATE_SUSPENDED' as const, next_fire_times: [], next_fire_time: 0 }, changed: true })),
  ResumeSchedule: handlers.unary((request: GetScheduleRequest__Output) => ({ schedule: schedule(request), changed: false })),
  DeleteSchedule: handlers.unary(() => ({ running_instance_ids: ['i-runs'], cancelled_instance_ids: ['i-waited'], running_count: 1, cancelled_count: 2_001, more: true })),
  TriggerSchedule: handlers.unary((request: TriggerScheduleRequest__Output) => {
    triggers.push(request);
    return { instance_id: request.instance_id, waits: request.task_id === 'busy' };
  }),
};
const triggers: TriggerScheduleRequest__Output[] = [];

beforeAll(async () => {
  elsewhere = createServer();
  elsewhere.addService(contract.JobService.service, { ...jobService, SubmitJob: handlers.unary(() => ({ result: { instance_id: 'at-the-owner', outcome: 'SUBMIT_OUTCOME_ACCEPTED' } })) });
  ownerAddress = `127.0.0.1:${await listen(elsewhere, '127.0.0.1', 0)}`;
  server = createServer();
  server.addService(contract.JobService.service, jobService);
  server.addService(contract.AdminService.service, adminService);
  server.addService(contract.ScheduleService.service, scheduleService);
  target = `127.0.0.1:${await listen(server, '127.0.0.1', 0)}`;
});

afterAll(async () => {
  await Promise.all([shutDown(server, 0), shutDown(elsewhere, 0)]);
  rmSync(folder, { recursive: true });
});

describe('lts', () => {
  it('submits, waits for the end and prints it', async () => {
    looks = 0;
    const ended = await run(['job', 'submit', '--task-id', 'a', '--group', 'g', '--wait', '-o', 'json']);
    expect(ended).toMatchObject({ code: 0, err: expect.stringMatching(/^waiting for [0-9a-f-]{36} …\n$/) });
    expect(JSON.parse(ended.out)).toMatchObject({ state: 'INSTANCE_STATE_SUCCEEDED', message: 'the result', job: { payload: Buffer.from('hi').toString('base64'), priority: 7 } });
    expect(ended.out).not.toContain('_priority');
  });

  it('gives up waiting with 124', async () => {
    looks = -1_000_000;
    expect(await run(['job', 'submit', '--task-id', 'a', '--group', 'g', '--wait', '--wait-timeout', '200ms'])).toMatchObject({ code: 124, err: expect.stringContaining('EXECUTING') });
  });

  it('follows NOT_OWNER to the owner', async () => {
    expect(await run(['job', 'submit', '--task-id', 'moved', '--group', 'g'])).toMatchObject({ code: 0, out: expect.stringContaining('at-the-owner') });
  });

  it('submits a batch and tells what was refused', async () => {
    const file = join(folder, 'jobs.jsonl');
    writeFileSync(file, '{"task_id":"ok","node_group":"g"}\n{"task_id":"bad","node_group":"g"}\n');
    expect(await run(['job', 'submit', '--file', file])).toMatchObject({ code: 4, out: expect.stringMatching(/ACCEPTED[\s\S]*REJECTED {2}INVALID_ARGUMENT: no/) });
  });

  it('keeps data and messages apart and ends by the kind of error', async () => {
    expect(await run(['job', 'submit', '--task-id', 'full', '--group', 'g'])).toEqual({ code: 4, out: '', err: 'lts: BACKLOG_FULL: the group g has 5 jobs, its limit is 5\n' });
    expect(await run(['job', 'get', 'none'])).toMatchObject({ code: 3, out: '' });
    expect(await run(['job', 'list'], { LTS_TARGET: '127.0.0.1:1' })).toMatchObject({ code: 5, err: expect.stringContaining('nothing answers at 127.0.0.1:1') });
    expect(await run(['job', 'submit', '--task-id', 'a', '--group', 'g', '--priority', 'high'])).toMatchObject({ code: 2, err: expect.stringContaining('priority: "high"') });
    expect(await run(['job', 'sumbit'])).toMatchObject({ code: 2, err: expect.stringContaining('Did you mean submit?') });
    expect(await run(['job', 'get'])).toMatchObject({ code: 2 });
    expect(await run(['--help'])).toMatchObject({ code: 0, out: expect.stringContaining('Exit codes:') });
  });

  it('shows a job with its attempts, for people and as JSON', async () => {
    const shown = await run(['job', 'get', 'x']);
    expect(shown.out).toMatch(/state +EXECUTING|state +SUCCEEDED/);
    expect(shown.out).toMatch(/1 +w1 .*EXCEPTION +boom/);
    expect(JSON.parse((await run(['job', 'get', 'x', '-o', 'json'])).out)).toMatchObject({ attempts: [{ outcome: 'ATTEMPT_OUTCOME_EXCEPTION' }] });
  });

  it('lists page by page up to the limit', async () => {
    const listed = JSON.parse((await run(['job', 'list', '--state', 'READY', '--limit', '5', '-o', 'json'])).out) as { instance_id: string }[];
    expect(listed.map((instance) => instance.instance_id)).toEqual(['INSTANCE_STATE_READY0', 'INSTANCE_STATE_READY1', 'INSTANCE_STATE_READY2', 'INSTANCE_STATE_READYp0', 'INSTANCE_STATE_READYp1']);
  });

  it('cancels by id alone: asks for the group first', async () => {
    expect(JSON.parse((await run(['job', 'cancel', 'x', '-o', 'json'])).out)).toMatchObject({ instance_ids: ['x', 'of-the-job'] });
  });

  it('says how a task has ended that it is asked to cancel', async () => {
    const ended = await run(['job', 'cancel', '--task-id', 'over', '--group', 'g']);
    expect(ended).toMatchObject({ code: 0, out: expect.stringMatching(/i-over +ALREADY_ENDED/), err: 'task over has ended already as CANCELLED\n' });
  });

  it('explains jobs that nothing holds back', async () => {
    expect((await run(['job', 'explain', 'i-runs'])).out).toBe('i-runs is EXECUTING on worker w1\n');
    expect((await run(['job', 'explain', 'i-covered'])).out).toBe('i-covered is CANCELLING on worker w1: covered by run i-new\n');
    expect((await run(['job', 'explain', 'i-over'])).out).toBe('i-over has ended as FAILED: boom\n');
  });

  it('does not say that a job exists which nobody can look up', async () => {
    expect((await run(['job', 'explain', 'i-away'])).out).toMatch(/^whether there is a job i-away is not known while this lasts:\n\n/);
  });

  it('says which results cannot be delivered again', async () => {
    expect(await run(['feedback', 'resend', 'dead-1'])).toMatchObject({ code: 0, err: '' });
    expect(await run(['feedback', 'resend', 'dead-1', 'abc'])).toMatchObject({ code: 0, err: expect.stringContaining('1 of 2: the others are not dead results') });
    expect(await run(['feedback', 'resend', 'abc', 'def'])).toMatchObject({ code: 3, err: expect.stringContaining('no such dead results: abc, def') });
  });

  it('says that the job goes on when a wait is interrupted', async () => {
    looks = -1_000_000;
    const child = spawn(process.execPath, [join(packageRoot, 'dist/services/cli/main.js'), 'job', 'submit', '--task-id', 'a', '--group', 'g', '--wait'], { env: { LTS_TARGET: target } });
    let err = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      err += text;
    });
    const code = once(child, 'close');
    await eventually(() => looks > -1_000_000, { withinMs: 10_000 });
    child.kill('SIGINT');
    expect((await code)[0]).toBe(130);
    expect(err).toMatch(/^waiting for (\S+) …\nthe job goes on; see: lts job get \1\n$/);
  });

  it('names the one bad entry of a list', async () => {
    expect(await run(['job', 'list', '--state', 'READY,RUNNING'])).toMatchObject({ code: 2, err: expect.stringContaining('"RUNNING" (flag --state) is not one of WAITING, READY') });
  });

  it('prints every log line once', async () => {
    looks = 0;
    const { out } = await run(['job', 'logs', 'x', '--follow']);
    expect(out).toBe('2023-11-14T22:13:20.000Z 1 WARN  page \n2023-11-14T22:13:20.000Z 1 WARN  page two\n');
  });

  it('shows queues in columns', async () => {
    expect((await run(['queue', 'list'])).out).toMatch(/^group +waiting +ready .*\n+demo +0 +4 /);
    expect((await run(['queue', 'list'])).out).toMatch(/ limits\n.* running 3\n/);
  });

  it('shows the limits of a group when none is to be set', async () => {
    expect((await run(['queue', 'limit', 'demo'])).out).toMatch(/max running +3\n/);
    expect((await run(['queue', 'limit', 'other'])).out).toMatch(/max running +none\n/);
  });

  it('does not wait for a schedule, and says where to look at it', async () => {
    const cron = ['--task-id', 'nightly', '--group', 'g', '--cron', '@daily'];
    expect(await run(['job', 'submit', ...cron, '--wait'])).toMatchObject({ code: 2, out: '', err: expect.stringContaining('task nightly is a schedule') });
    expect(await run(['job', 'submit', ...cron])).toMatchObject({ code: 0, out: expect.stringContaining('ACCEPTED'), err: 'a schedule; see: lts schedule get --task-id nightly --group g\n' });
  });

  it('says what is in the place of a duplicate, and what --replace does not do', async () => {
    const submit = async (taskId: string, ...more: string[]) => (await run(['job', 'submit', '--task-id', taskId, '--group', 'taken', ...more])).err;
    // 'none' is no schedule, 'over' was one, every other task is one.
    const cancel = (taskId: string) => `; cancel it first: lts job cancel --task-id ${taskId} --group taken\n`;
    const waits = 'a one-shot job of task none waits already; see: lts job get i-there';
    const stands = 'task nightly is a schedule already; see: lts schedule get --task-id nightly --group taken';
    expect(await submit('none', '--cron', '@daily', '--replace')).toBe(`${waits}\n--replace does not put a schedule in the place of a one-shot job${cancel('none')}`);
    expect(await submit('nightly', '--replace')).toBe(`${stands}\n--replace does not put a one-shot job in the place of a schedule${cancel('nightly')}`);
    expect(await submit('none')).toBe(`${waits}; to put this one in its place: --replace\n`);
    expect(await submit('over')).toBe(`${waits.replace('task none', 'task over')}; to put this one in its place: --replace\n`);
    expect(await submit('nightly', '--cron', '@daily')).toBe(`${stands}; to put this one in its place: --replace\n`);
  });

  it('lists schedules page by page, and shows one with the times to come', async () => {
    const listed = await run(['schedule', 'list', '--group', 'g', '--state', 'ACTIVE', '--limit', '3']);
    expect(listed.out.match(/SCHEDULE_STATE_ACTIVEp?\d +g +ACTIVE +0 3 \* \* \* Europe\/Berlin +2023-11-14T22:13:20\.000Z/g)).toHaveLength(3);
    const shown = await run(['schedule', 'get', '--task-id', 'nightly', '--group', 'g']);
    expect(shown.out).toMatch(/next fires +2023-11-14T23:13:20\+01:00 +2023-11-14T22:13:20Z\n +2023-11-15T23:13:20\+01:00 +2023-11-15T22:13:20Z\n/);
    expect(shown.out).toMatch(/clocks +gap DEFAULT, overlap DEFAULT\nrely on previous +yes, never two runs at once\nmisfire +SKIP, when late by more than 1m\nblocking +DISCARD_LATER\n/);
    expect((await run(['schedule', 'get', '--task-id', 'over', '--group', 'g'])).out).toMatch(/state +OVER\n[^]*ended +2023-11-14T22:13:20\.000Z\n/);
    expect(await run(['schedule', 'get', '--task-id', 'none', '--group', 'g'])).toMatchObject({ code: 3, err: 'lts: NOT_FOUND: there is no such schedule\n' });
    expect(await run(['schedule', 'get', '--task-id', 'nightly'])).toMatchObject({ code: 2, err: expect.stringContaining('--task-id and --group') });
  });

  it('shows by which time zone rules the trackers compute, and warns when they differ', async () => {
    const differ = { code: 0, err: expect.stringContaining('tzdata 2024a on b; 2025b on a. ') };
    expect(await run(['cluster'])).toMatchObject({ ...differ, out: expect.stringMatching(/^a .* 2025b\nb .* 2024a$/m) });
    expect(await run(['node', 'list'])).toMatchObject({ ...differ, out: expect.stringMatching(/ tzdata\n.* 2025b\n.* 2024a$/m) });
  });

  it('suspends, resumes and deletes schedules', async () => {
    const name = ['--task-id', 'nightly', '--group', 'g'];
    expect(await run(['schedule', 'suspend', ...name])).toMatchObject({ code: 0, out: expect.stringMatching(/state +SUSPENDED/), err: '' });
    expect(await run(['schedule', 'resume', ...name])).toMatchObject({ code: 0, out: expect.stringMatching(/state +ACTIVE/), err: 'it was active before\n' });
    expect(await run(['schedule', 'delete', ...name])).toMatchObject({ code: 0, out: expect.stringMatching(/i-runs +goes on\ni-waited +CANCELLED/), err: expect.stringMatching(/and 2000 further runs\nvery many waited[^]*lts job cancel/) });
  });

  it('triggers a run for a time, with other parameters, under an id of its own', async () => {
    const ended = await run(['schedule', 'trigger', '--task-id', 'busy', '--group', 'g', '--param', 'day=monday', '--payload', 'x', '--at', '2026-06-01T03:00:00Z']);
    expect(ended).toMatchObject({ code: 0, out: expect.stringContaining('waits for the run that is still going') });
    expect(triggers.at(-1)).toMatchObject({ ext_params: { day: 'monday' }, payload: Buffer.from('x'), scheduled_time: Date.UTC(2026, 5, 1, 3), instance_id: expect.stringMatching(/^[0-9a-f-]{36}$/) });
    await run(['schedule', 'trigger', '--task-id', 'nightly', '--group', 'g']);
    expect(triggers.at(-1)).toMatchObject({ ext_params: {}, scheduled_time: 0 });
    expect(triggers.at(-1)?.payload).toBeUndefined();
  });
});
