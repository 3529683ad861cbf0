import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../kit/eventually.js';
import { bufCall, bufCurl } from './buf-curl.js';
import { startTrackerAndGateway, type TrackerAndGateway } from './tracker-and-gateway.js';

interface Submitted {
  result: { instanceId: string; outcome: string };
}

interface Got {
  instance: { instanceId: string; state: string; job: { taskId: string; payload: string; extParams: Record<string, string>; priority: number } };
}

interface Listed {
  schedules?: object[];
  schedule?: { nextFireTimes?: string[] };
  fireTimes?: string[];
  instanceId?: string;
}

const served = {
  tracker: ['AdminService', 'ClusterService', 'FeedbackService', 'JobService', 'ScheduleService', 'WorkerService'],
  gateway: ['AdminService', 'FailStoreService', 'FeedbackService', 'JobService', 'ScheduleService'],
};

let services: TrackerAndGateway;

beforeAll(async () => {
  services = await startTrackerAndGateway();
});

afterAll(() => services.stop());

describe.each(['tracker', 'gateway'] as const)('buf curl against the %s, through reflection alone', (kind) => {
  const address = (): string => (kind === 'tracker' ? services.trackerAddress : services.gatewayAddress);
  const group = `buf-${kind}`;

  it('lists the services and their methods', async () => {
    const listed = await bufCurl('--list-services', `http://${address()}`);
    expect(listed.stderr).toBe('');
    const names = listed.stdout.trim().split('\n');
    expect(names).toEqual(expect.arrayContaining([...served[kind].map((name) => `lts.v1.${name}`), 'grpc.health.v1.Health']));
    const methods = await bufCurl('--list-methods', `http://${address()}`);
    for (const method of ['lts.v1.JobService/SubmitJob', 'lts.v1.JobService/SubmitJobs', 'lts.v1.JobService/CancelJob', 'lts.v1.AdminService/GetInstance']) {
      expect(methods.stdout).toContain(method);
    }
  });

  it('submits a job with a map and reads its status', async () => {
    const job = { task_id: 'curl', node_group: group, payload: Buffer.from('hello').toString('base64'), ext_params: { colour: 'blau', größe: '☃' }, priority: 7 };
    const { result } = await bufCall<Submitted>(address(), 'lts.v1.JobService/SubmitJob', { job });
    expect(result.outcome).toBe('SUBMIT_OUTCOME_ACCEPTED');
    const { instance } = await bufCall<Got>(address(), 'lts.v1.AdminService/GetInstance', { instance_id: result.instanceId });
    expect(instance).toMatchObject({ instanceId: result.instanceId, state: 'INSTANCE_STATE_READY' });
    expect(instance.job).toMatchObject({ taskId: 'curl', payload: job.payload, extParams: job.ext_params, priority: 7 });
    const why = await bufCall<{ causes: { reason: string }[] }>(address(), 'lts.v1.AdminService/ExplainInstance', { task_id: 'curl', node_group: group });
    expect(why.causes[0]?.reason).toBe('WAIT_REASON_NO_WORKER');
  });

  it('submits a batch and gets one outcome per job', async () => {
    const jobs = [{ task_id: 'b1', node_group: group }, { task_id: '', node_group: group }, { task_id: 'b1', node_group: group }];
    const { results } = await bufCall<{ results: { outcome: string; reason?: string }[] }>(address(), 'lts.v1.JobService/SubmitJobs', { jobs });
    expect(results.map(({ outcome, reason }) => [outcome, reason])).toEqual([
      ['SUBMIT_OUTCOME_ACCEPTED', undefined],
      ['SUBMIT_OUTCOME_REJECTED', 'INVALID_ARGUMENT'],
      ['SUBMIT_OUTCOME_DUPLICATE_IGNORED', undefined],
    ]);
  });

  it('submits a schedule, lists and previews it, and takes it through its states', async () => {
    const schedules = (method: string, request: object): Promise<Listed> => bufCall(address(), `lts.v1.ScheduleService/${method}`, request);
    const name = { task_id: 'yearly', node_group: group };
    const { result } = await bufCall<Submitted>(address(), 'lts.v1.JobService/SubmitJob', { job: { ...name, cron_expression: '0 30 2 ? 1 MON#1', time_zone: 'Europe/Berlin' } });
    expect(result.outcome).toBe('SUBMIT_OUTCOME_ACCEPTED');
    const { schedules: listed } = await schedules('ListSchedules', { node_group: group });
    const shown = { scheduleId: result.instanceId, state: 'SCHEDULE_STATE_ACTIVE', job: { taskId: 'yearly', cronExpression: '0 30 2 ? 1 MON#1', timeZone: 'Europe/Berlin' } };
    expect(listed).toMatchObject([shown]);
    const noRun = await bufCurl('-d', JSON.stringify(name), `http://${address()}/lts.v1.AdminService/GetInstance`);
    expect(noRun.stderr).toContain('is a schedule of which no run is kept yet');
    const why = await bufCall<{ causes: { reason: string }[] }>(address(), 'lts.v1.AdminService/ExplainInstance', name);
    expect(why.causes[0]?.reason).toBe('WAIT_REASON_NOT_DUE');
    const { schedule } = await schedules('GetSchedule', name);
    expect(schedule).toMatchObject(shown);
    const times = schedule?.nextFireTimes?.map(Number) ?? [];
    expect(times.map((time) => new Date(time).getUTCDay())).toEqual(Array.from({ length: 10 }, () => 1));
    const { fireTimes } = await schedules('PreviewSchedule', { cron_expression: '0 30 2 ? 1 MON#1', time_zone: 'Europe/Berlin', from: times[0] });
    expect(fireTimes?.map(Number)).toEqual(times);
    expect(await schedules('SuspendSchedule', name)).toMatchObject({ changed: true, schedule: { state: 'SCHEDULE_STATE_SUSPENDED' } });
    const run = await schedules('TriggerSchedule', { ...name, ext_params: { by: 'hand' }, scheduled_time: 1_700_000_000_000 });
    const { instance } = await bufCall<Got>(address(), 'lts.v1.AdminService/GetInstance', { instance_id: run.instanceId });
    expect(instance).toMatchObject({ state: 'INSTANCE_STATE_READY', scheduledTime: '1700000000000', job: { taskId: 'yearly', extParams: { by: 'hand' } } });
    expect(await schedules('ResumeSchedule', name)).toMatchObject({ changed: true });
    expect(await schedules('DeleteSchedule', name)).toEqual({ cancelledInstanceIds: [run.instanceId], cancelledCount: '1' });
    expect(await schedules('ListSchedules', { node_group: group })).toEqual({});
  });

  it('is told what is wrong, with the reason in the trailing metadata', async () => {
    const refused = await bufCurl('-v', '-d', JSON.stringify({ job: { task_id: 'x', node_group: 'not a group' } }), `http://${address()}/lts.v1.JobService/SubmitJob`);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toMatch(/"code": *"invalid_argument"/);
    expect(refused.stderr.toLowerCase()).toContain('lts-reason: invalid_argument');
    expect(refused.stderr).toContain('node_group');
    const unknown = await bufCurl('-d', JSON.stringify({ job: { taskid: 'x' } }), `http://${address()}/lts.v1.JobService/SubmitJob`);
    expect(unknown.stderr).toContain('taskid');
  });

  it('checks the health of the node and of each service', async () => {
    const check = (service: string): Promise<{ status: string }> => bufCall(address(), 'grpc.health.v1.Health/Check', { service });
    await eventually(async () => (await check('lts.v1.JobService')).status === 'SERVING', { what: `JobService of the ${kind} serves` });
    expect(await check('')).toEqual({ status: 'SERVING' });
    const unknown = await bufCurl('-d', '{"service":"lts.v1.NoService"}', `http://${address()}/grpc.health.v1.Health/Check`);
    expect(unknown.stderr).toContain('not_found');
  });

  it('opens a stream of both directions', async () => {
    const hello = `{"hello":{"submit_node_group":"${group}","client_id":"curl"}}`;
    const known = await bufCurl('-d', hello, `http://${address()}/lts.v1.FeedbackService/WatchFeedback`);
    expect(known).toMatchObject({ code: 0 });
  });
});
