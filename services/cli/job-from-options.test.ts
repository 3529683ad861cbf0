import { describe, expect, it } from 'vitest';
import { loadSettings } from '../../shared/config/load-settings.js';
import { defineSettings } from '../../shared/config/settings.js';
import { isId } from '../../shared/ids.js';
import { submitOptions } from './command-options.js';
import { jobFromOptions } from './job-from-options.js';
import { intoBatches, jobsFromLines } from './jobs-from-lines.js';
import { parseTime } from './parse-time.js';

/** All fields of a schedule, as lines have them: of a cron expression, of a repeat, of a window. */
const firings = [
  {
    cron_expression: '0 0 3 * * ?',
    cron_dialect: 'CRON_DIALECT_QUARTZ',
    time_zone: 'Europe/Berlin',
    dst_gap: 'DST_GAP_POLICY_SKIP',
    dst_overlap: 'DST_OVERLAP_POLICY_SECOND',
    rely_on_prev_cycle: false,
    misfire_policy: { action: 'MISFIRE_ACTION_FIRE_ALL', threshold: 1, newest: 2, window: 3 },
    start_time: 1,
    end_time: 4_000_000_000_000,
  },
  { repeat_interval: 1_000, repeat_count: -1, repeat_mode: 'REPEAT_MODE_FIXED_DELAY', blocking_policy: { strategy: 'BLOCKING_STRATEGY_SERIAL', limit: 3 } },
  { repeat_interval: 1_000, daily_window: { from: '09:00', to: '17:00', weekdays: [1, 7] } },
];

const settings = defineSettings(submitOptions);
const job = (flags: Record<string, unknown>): ReturnType<typeof jobFromOptions> =>
  jobFromOptions(loadSettings(settings, { flags: { taskId: 't', group: 'g', ...flags }, env: {} }).values, 1_000_000);

describe('jobFromOptions', () => {
  it('gives only what was asked for, and an id so that the call can be repeated', () => {
    const { instance_id: id, ...rest } = job({});
    expect(rest).toEqual({ task_id: 't', node_group: 'g' });
    expect(isId(id ?? '')).toBe(true);
  });

  it('reads every option', () => {
    const made = job({
      type: 'echo',
      payload: 'hello',
      param: ['a=1', 'b=x=y,z'],
      priority: '0',
      triggerTime: '+5s',
      maxRetryTimes: '3',
      retryDelay: ['1s,2s', '1m'],
      needFeedback: true,
      submitGroup: 's',
      replace: true,
      timeoutRun: '30s',
      onWorkerLoss: 'fail',
      maxLost: '1',
      instanceId: 'the-id',
    });
    expect(made).toEqual({
      task_id: 't',
      node_group: 'g',
      type: 'echo',
      payload: Buffer.from('hello'),
      content_type: 'text/plain',
      ext_params: { a: '1', b: 'x=y,z' },
      priority: 0,
      trigger_time: 1_005_000,
      max_retry_times: 3,
      retry_policy: { law: 'RETRY_LAW_LIST', delays: [1_000, 2_000, 60_000] },
      need_feedback: true,
      submit_node_group: 's',
      replace_on_exist: true,
      execution_timeout: 30_000,
      on_worker_loss: 'ON_WORKER_LOSS_FAIL',
      max_lost: 1,
      instance_id: 'the-id',
    });
  });

  it('reads every option of a schedule', () => {
    const cron = job({
      cron: '0 30 2 * * ?',
      dialect: 'quartz',
      zone: 'Europe/Berlin',
      gap: 'run-before',
      overlap: 'both',
      misfire: 'fire-all',
      misfireThreshold: '5m',
      misfireNewest: '10',
      misfireWindow: '1h',
      blocking: 'serial',
      blockingLimit: '5',
      start: '+1s',
      end: '2030-01-01T00:00:00Z',
    });
    expect(cron).toMatchObject({
      cron_expression: '0 30 2 * * ?',
      cron_dialect: 'CRON_DIALECT_QUARTZ',
      time_zone: 'Europe/Berlin',
      dst_gap: 'DST_GAP_POLICY_RUN_BEFORE',
      dst_overlap: 'DST_OVERLAP_POLICY_BOTH',
      misfire_policy: { action: 'MISFIRE_ACTION_FIRE_ALL', threshold: 300_000, newest: 10, window: 3_600_000 },
      blocking_policy: { strategy: 'BLOCKING_STRATEGY_SERIAL', limit: 5 },
      start_time: 1_001_000,
      end_time: Date.UTC(2030, 0, 1),
    });
    expect(Object.keys(cron).filter((field) => field.startsWith('repeat') || field.startsWith('rely'))).toEqual([]);
    expect(job({ repeatEvery: '250ms' })).toMatchObject({ repeat_interval: 250, repeat_count: -1 });
    expect(job({ repeatEvery: '1s', repeatCount: '3', fixedDelay: true })).toMatchObject({ repeat_count: 3, repeat_mode: 'REPEAT_MODE_FIXED_DELAY' });
    const window = job({ repeatEvery: '15m', window: '22:00-02:00', weekdays: ['mon-wed', 'SUN'] });
    expect(window).toMatchObject({ repeat_interval: 900_000, daily_window: { from: '22:00', to: '02:00', weekdays: [1, 2, 3, 7] } });
    expect(window).not.toHaveProperty('repeat_count');
    expect(() => job({ weekdays: ['MON'] })).toThrow('--window');
    expect(() => job({ repeatEvery: '1m', window: '09:00' })).toThrow('--window 09:00 is not');
    expect(() => job({ repeatEvery: '1m', window: '09:00-10:00', weekdays: ['someday'] })).toThrow('--weekdays someday');
  });

  it('lets runs overlap where that is asked for', () => {
    expect(job({ cron: '@daily', blocking: 'concurrent', blockingLimit: '2' })).toMatchObject({ rely_on_prev_cycle: false, blocking_policy: { strategy: 'BLOCKING_STRATEGY_CONCURRENT', limit: 2 } });
    expect(job({ cron: '@daily', rely: 'false' })).toMatchObject({ rely_on_prev_cycle: false });
    expect(job({ cron: '@daily', rely: 'true', blocking: 'concurrent' })).toMatchObject({ rely_on_prev_cycle: true });
  });

  it('knows the three retry laws', () => {
    expect(job({ retryDelay: ['5s'] }).retry_policy).toEqual({ law: 'RETRY_LAW_FIXED', delay: 5_000 });
    expect(job({ retryDelay: ['5s'], retryMaxDelay: '1m' }).retry_policy).toEqual({ law: 'RETRY_LAW_EXPONENTIAL', delay: 5_000, max_delay: 60_000 });
    expect(() => job({ retryDelay: ['5s,6s'], retryMaxDelay: '1m' })).toThrow('not with a list');
  });

  it('checks JSON here and takes only one payload', () => {
    expect(job({ json: '{"a":1}' })).toMatchObject({ payload: Buffer.from('{"a":1}'), content_type: 'application/json' });
    expect(() => job({ json: '{' })).toThrow('--json is not JSON');
    expect(() => job({ json: '{}', payload: 'x' })).toThrow('only one of');
    expect(() => job({ payloadFile: '/none/such' })).toThrow('cannot read /none/such');
    expect(() => job({ needFeedback: true })).toThrow('--submit-group');
  });
});

describe('parseTime', () => {
  it('takes a delay, ISO 8601 and milliseconds', () => {
    expect(parseTime('--at', '+250ms', 1_000)).toBe(1_250);
    expect(parseTime('--at', '2026-12-31T23:00:00Z', 0)).toBe(Date.UTC(2026, 11, 31, 23));
    expect(parseTime('--at', '1700000000000', 0)).toBe(1_700_000_000_000);
    expect(parseTime('--at', '2026-12-31T23:00:00+01:00', 0)).toBe(Date.UTC(2026, 11, 31, 22));
    for (const vague of ['2026-12-31', '2026-12-31T23:00:00', '2026-12-31T25:00:00Z']) expect(() => parseTime('--at', vague, 0)).toThrow(`--at ${vague} does not say which moment it is`);
    for (const wrong of ['tomorrow', '+5', '12:00', '']) expect(() => parseTime('--at', wrong, 0)).toThrow('is not a time');
  });
});

describe('jobsFromLines', () => {
  it('knows every field of a schedule', () => {
    const jobs = firings.map((firing) => ({ task_id: 't', node_group: 'g', ...firing, type: 'x' }));
    expect(jobsFromLines(jobs.map((job) => JSON.stringify(job)).join('\n'))).toMatchObject(jobs);
  });

  it('reads jobs with their payload in three forms', () => {
    const lines = [
      '{"task_id":"a","node_group":"g","payload":"aGk="}',
      '',
      '{"task_id":"b","node_group":"g","payload_text":"hi","priority":1}',
      '{"task_id":"c","node_group":"g","payload_json":{"x":1},"content_type":"application/vnd.x+json"}',
      '{"task_id":"d","node_group":"g","cron_expression":"@daily","misfire_policy":{"action":"MISFIRE_ACTION_SKIP"},"rely_on_prev_cycle":false}',
    ];
    expect(jobsFromLines(lines.join('\n'))).toMatchObject([
      { task_id: 'a', payload: Buffer.from('hi') },
      { task_id: 'b', payload: Buffer.from('hi'), content_type: 'text/plain', priority: 1 },
      { task_id: 'c', payload: Buffer.from('{"x":1}'), content_type: 'application/vnd.x+json' },
      { task_id: 'd', cron_expression: '@daily', misfire_policy: { action: 'MISFIRE_ACTION_SKIP' }, rely_on_prev_cycle: false },
    ]);
  });

  it.each([
    ['not json', 'line 1 is not JSON'],
    ['{"node_group":"g"}', 'line 1 is not a job: task_id is'],
    ['{"task_id":"a","node_group":"g","prioriti":1}', 'prioriti'],
    ['{"task_id":"a","node_group":"g","priority":"high"}', 'priority'],
    ['{"task_id":"a","node_group":"g","priority":1e12}', 'priority'],
    ['{"task_id":"a","node_group":"g","cron_expression":"@daily","cron_dialect":"QUARZ"}', 'cron_dialect is "QUARZ"'],
    ['{"task_id":"a","node_group":"g","cron_expression":"61 * * * *"}', 'the minute is 0 to 59'],
    ['{"task_id":"a","node_group":"g","cron_expression":"@daily","repeat_interval":5}', 'both cron_expression'],
    ['{"task_id":"a","node_group":"g","payload":"a text"}', 'payload is not base64'],
    ['{"task_id":"a","node_group":"g","payload_text":1}', 'payload_text'],
    ['{"task_id":"a","node_group":"g","daily_window":{"from":"09:00","til":"10:00"}}', 'daily_window'],
    ['{"task_id":"a","node_group":"g","payload":"aGk=","payload_text":"x"}', 'more than one payload'],
  ])('refuses %s', (line, message) => {
    expect(() => jobsFromLines(line)).toThrow(message);
  });

  it('takes names with and without their prefix, as the library does', () => {
    const job = { task_id: 't', node_group: 'g', repeat_interval: 1_000, repeat_count: 3, repeat_mode: 'FIXED_DELAY', misfire_policy: { action: 'SKIP' }, on_worker_loss: 'FAIL' };
    expect(jobsFromLines(JSON.stringify(job))).toMatchObject([
      { repeat_mode: 'REPEAT_MODE_FIXED_DELAY', misfire_policy: { action: 'MISFIRE_ACTION_SKIP' }, on_worker_loss: 'ON_WORKER_LOSS_FAIL' },
    ]);
  });

  it('names the line of a value that is wrong deep within', () => {
    const good = { task_id: 't', node_group: 'g' };
    const bad = { ...good, repeat_interval: 60_000, daily_window: { from: '9', to: '10:00' } };
    expect(() => jobsFromLines([good, good, bad].map((job) => JSON.stringify(job)).join('\n'))).toThrow(/^line 3 is not a job: daily_window.from is "9"; give HH:MM/);
  });

  it('tells all bad lines, up to 20', () => {
    const lines = ['{"task_id":"a","node_group":"g"}', 'x', '', '{"task_id":"b"}', ...Array.from({ length: 20 }, () => '[]')];
    expect(() => jobsFromLines(lines.join('\n'))).toThrow(/^line 2 is not JSON: x\nline 4 is not a job: node_group is .*\nline 5 .*[\s\S]*\nline 22 .*\nand 2 more$/);
  });

  it('makes batches that one call may carry', () => {
    const small = Array.from({ length: 2_500 }, (_, i) => ({ task_id: String(i) }));
    expect(intoBatches(small).map((batch) => batch.length)).toEqual([1_000, 1_000, 500]);
    const large = Array.from({ length: 7 }, () => ({ payload: Buffer.alloc(1024 * 1024) }));
    expect(intoBatches(large).map((batch) => batch.length)).toEqual([2, 2, 2, 1]);
  });
});
