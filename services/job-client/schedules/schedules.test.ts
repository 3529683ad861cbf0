import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LtsError } from '../../../shared/errors/lts-error.js';
import { newId } from '../../../shared/ids.js';
import { systemClock } from '../../../shared/time/clock.js';
import { eventually } from '../../../test/kit/eventually.js';
import { freePort } from '../../../test/kit/ports.js';
import { FakeTracker } from '../fake-tracker.js';
import { JobClient, type NewJob } from '../index.js';

const name = { task_id: 't', node_group: 'g' };
let tracker: FakeTracker;
let client: JobClient;
let dataDir: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'schedules-'));
  tracker = new FakeTracker();
});

afterEach(async () => {
  await client.close();
  tracker.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

async function serve(port = 0): Promise<void> {
  await tracker.start(port);
  tracker.showOwner(1, tracker.address);
}

async function connect(): Promise<void> {
  await serve();
  client = new JobClient({ trackers: [tracker.address], submitTimeout: 2_000 });
}

describe('the client library', () => {
  it('submits a schedule with names and times as people write them', async () => {
    await connect();
    const job: NewJob = {
      ...name,
      cron_expression: '0 0 3 ? * MON-FRI',
      cron_dialect: 'QUARTZ',
      time_zone: 'Europe/Berlin',
      dst_gap: 'SKIP',
      dst_overlap: 'DST_OVERLAP_POLICY_BOTH',
      misfire_policy: { action: 'FIRE_ALL', threshold: 5_000, newest: 3 },
      blocking_policy: { strategy: 'SERIAL', limit: 2 },
      start_time: new Date(1_800_000_000_000),
      end_time: 1_900_000_000_000,
    };
    await client.submit(job);
    expect(tracker.jobs[0]).toMatchObject({
      cron_expression: '0 0 3 ? * MON-FRI',
      cron_dialect: 'CRON_DIALECT_QUARTZ',
      dst_gap: 'DST_GAP_POLICY_SKIP',
      dst_overlap: 'DST_OVERLAP_POLICY_BOTH',
      misfire_policy: { action: 'MISFIRE_ACTION_FIRE_ALL', threshold: 5_000, newest: 3 },
      blocking_policy: { strategy: 'BLOCKING_STRATEGY_SERIAL', limit: 2 },
      start_time: 1_800_000_000_000,
      end_time: 1_900_000_000_000,
    });
    await client.submit({ ...name, repeat_interval: 60_000, repeat_mode: 'FIXED_DELAY', repeat_count: -1, rely_on_prev_cycle: true });
    expect(tracker.jobs[1]).toMatchObject({ repeat_interval: 60_000, repeat_mode: 'REPEAT_MODE_FIXED_DELAY', repeat_count: -1, rely_on_prev_cycle: true });
    await client.submit({ ...name, repeat_interval: 60_000, daily_window: { from: '09:00', to: '17:00', weekdays: [1, 5] } });
    expect(tracker.jobs[2]).toMatchObject({ daily_window: { from: '09:00', to: '17:00', weekdays: [1, 5] } });
    await expect(client.submit({ ...name, cron_expression: '@daily', cron_dialect: 'CRONIE' as 'UNIX' })).rejects.toThrow('cron_dialect is "CRONIE"; give one of AUTO, UNIX, QUARTZ');
  });

  it('manages schedules at their owner', async () => {
    await connect();
    const { schedules } = client;
    tracker.onSchedule = (method) => (method === 'ListSchedules' ? { schedules: [{ schedule_id: 's' }], next_page_token: 'g t' } : { schedule: { schedule_id: 's' }, changed: true, running_instance_ids: ['r'] });
    expect(await schedules.get(name)).toMatchObject({ schedule_id: 's' });
    expect(await schedules.list({ state: 'SUSPENDED', page_size: 1 })).toMatchObject({ schedules: [{ schedule_id: 's' }], next_page_token: 'g t' });
    expect(await schedules.suspend(name)).toMatchObject({ changed: true });
    expect(await schedules.resume(name)).toMatchObject({ changed: true });
    expect(await schedules.delete(name)).toMatchObject({ running_instance_ids: ['r'] });
    await schedules.trigger({ ...name, ext_params: { k: 'v' }, payload: 'text', scheduled_time: new Date(1_700_000_000_000) });
    await schedules.preview({ cron_expression: '@daily', cron_dialect: 'UNIX', from: new Date(5) });
    expect(tracker.scheduleCalls).toMatchObject([
      { method: 'GetSchedule', request: name },
      { method: 'ListSchedules', request: { state: 'SCHEDULE_STATE_SUSPENDED', page_size: 1 } },
      { method: 'SuspendSchedule', request: name },
      { method: 'ResumeSchedule', request: name },
      { method: 'DeleteSchedule', request: name },
      { method: 'TriggerSchedule', request: { ...name, ext_params: { k: 'v' }, payload: Buffer.from('text'), scheduled_time: 1_700_000_000_000 } },
      { method: 'PreviewSchedule', request: { cron_expression: '@daily', cron_dialect: 'CRON_DIALECT_UNIX', from: 5 } },
    ]);
  });

  it('tries a trigger again with the same id', async () => {
    await connect();
    let calls = 0;
    tracker.onSchedule = () => {
      if (++calls < 3) throw new LtsError('LOADING', 'in a moment');
      return { instance_id: 'x', waits: true };
    };
    expect(await client.schedules.trigger(name)).toEqual({ instance_id: 'x', waits: true });
    const ids = tracker.scheduleCalls.map(({ request }) => (request as { instance_id: string }).instance_id);
    expect(ids).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), ids[0], ids[0]]);
  });

  it('refuses what is wrong before it is sent, and passes on what is refused', async () => {
    await connect();
    const { schedules } = client;
    await expect(schedules.get({ task_id: 't' } as typeof name)).rejects.toThrow('node_group is undefined; it is required');
    await expect(schedules.suspend({ ...name, task_id: '' })).rejects.toThrow('task_id is ""');
    await expect(schedules.list({ page_size: 1_001 })).rejects.toThrow('page_size is 1001');
    await expect(schedules.trigger({ ...name, scheduled_time: new Date(Number.NaN) })).rejects.toThrow('scheduled_time is a Date');
    await expect(schedules.preview({} as { cron_expression: string })).rejects.toThrow('cron_expression is undefined');
    expect(tracker.scheduleCalls).toEqual([]);
    await expect(schedules.get(name)).rejects.toMatchObject({ reason: 'NOT_FOUND' });
  });
});

describe('a schedule that no tracker takes in time', () => {
  it('is kept and sent as any job, and its cancel by task behind it', async () => {
    const port = await freePort();
    client = new JobClient({ trackers: [`127.0.0.1:${port}`], dataDir, submitTimeout: 300 });
    const stored = await client.submit({ ...name, cron_expression: '@daily' });
    expect(stored.outcome).toBe('SUBMIT_OUTCOME_STORED_LOCALLY');
    expect(await client.cancel(name)).toMatchObject({ outcome: 'CANCEL_OUTCOME_STORED_LOCALLY' });
    tracker.onSchedule = () => ({ schedule: { schedule_id: stored.instance_id } });
    await serve(port);
    await eventually(() => tracker.cancels.length > 0);
    expect(tracker.jobs).toMatchObject([{ cron_expression: '@daily', instance_id: stored.instance_id }]);
    expect(tracker.late.has(stored.instance_id ?? '')).toBe(true);
    expect(tracker.cancels).toMatchObject([{ ...name, instance_id: '' }]);
  });

  it('and whose task has a younger schedule by then: that one is spared', async () => {
    const port = await freePort();
    client = new JobClient({ trackers: [`127.0.0.1:${port}`], dataDir, submitTimeout: 300 });
    const stored = await client.submit({ ...name, cron_expression: '@daily' });
    await client.cancel(name);
    const other = await client.submit({ ...name, task_id: 'other' });
    await client.cancel({ ...name, task_id: 'other' });
    tracker.onSchedule = () => ({ schedule: { schedule_id: newId(systemClock.now() + 5_000) } });
    tracker.instances = [{ instance_id: other.instance_id ?? '', job: { ...name, task_id: 'other' } }];
    await serve(port);
    // The last one of the FailStore: what comes before it has been sent.
    await eventually(() => tracker.cancels.some(({ instance_id: id }) => id === other.instance_id));
    expect(tracker.jobs.map((job) => job.instance_id)).toContain(stored.instance_id);
    expect(tracker.cancels.map(({ task_id: task, instance_id: id }) => [task, id])).toEqual([['', other.instance_id]]);
  });
});
