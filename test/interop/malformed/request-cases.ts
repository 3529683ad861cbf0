import { status } from '@grpc/grpc-js';
import { newId } from '../../../shared/ids.js';

/** A request and what has to come back. */
export interface RequestCase {
  name: string;
  request: object;
  code: number;
  reason?: string;
  /** In the message: the field and its value. */
  says?: RegExp;
}

/** An RPC with one request: its message type, a request that it takes, and requests that it has to refuse. */
export interface RequestRpc {
  type: string;
  /** `id`: an instance that is there. */
  valid: (id: string) => object;
  cases: RequestCase[];
  /** The job that has to be there for `valid`. */
  needs?: object;
}

/** A worker that is connected meanwhile. */
export const worker = 'worker-to-drain';

/** A schedule that is there meanwhile. */
export const yearly = { task_id: 'yearly', node_group: 'hostile', cron_expression: '0 0 1 1 *' };

const job = { task_id: 'valid', node_group: 'hostile' };
const yearlyName = { task_id: 'yearly', node_group: 'hostile' };
const unknownId = newId();
const future = 'ffffffff-ffff-7000-8000-000000000000';
/** The end of the year 9999. */
const lastTime = 253_402_300_799_999;
const ancient = '00000000-0000-7000-8000-000000000000';

const refused = (name: string, request: object, says: RegExp, reason = 'INVALID_ARGUMENT'): RequestCase => ({ name, request, code: status.INVALID_ARGUMENT, reason, says });
const taken = (name: string, request: object): RequestCase => ({ name, request, code: status.OK });
const missing = (name: string, request: object): RequestCase => ({ name, request, code: status.NOT_FOUND, reason: 'INSTANCE_NOT_FOUND', says: /there is no|has no/ });

const badJob = (name: string, fields: object, says: RegExp, reason?: string): RequestCase => refused(name, { job: { ...job, ...fields } }, says, reason);

/** Just beyond each limit of job.proto, and just inside it. */
const jobCases: RequestCase[] = [
  refused('nothing', {}, /task_id is ""/),
  badJob('no task_id', { task_id: '' }, /task_id is ""/),
  badJob('a task_id of 129 characters', { task_id: 'x'.repeat(129) }, /task_id is "x{100}…"/),
  badJob('a task_id with a space in front', { task_id: ' x' }, /task_id is " x"/),
  badJob('a task_id that is not ASCII', { task_id: 'größe' }, /task_id is "größe"/),
  badJob('no node_group', { node_group: '' }, /node_group is ""/),
  badJob('a node_group of 65 characters', { node_group: 'g'.repeat(65) }, /node_group is "g{65}"/),
  badJob('a node_group that is a path', { node_group: '../other' }, /node_group/),
  badJob('a type of 129 characters', { type: 't'.repeat(129) }, /type is/),
  badJob('a payload of 1 MiB and a byte', { payload: Buffer.alloc(1024 * 1024 + 1) }, /payload is "?1048577 bytes long/),
  badJob('65 ext_params', { ext_params: Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`k${n}`, 'v'])) }, /ext_params/),
  badJob('an ext_params key of 129 bytes', { ext_params: { ['k'.repeat(129)]: 'v' } }, /ext_params/),
  badJob('an ext_params value of 8,193 bytes', { ext_params: { k: 'v'.repeat(8_193) } }, /ext_params/),
  badJob('a negative trigger_time', { trigger_time: -1 }, /trigger_time is -1/),
  badJob('1,001 retries', { max_retry_times: 1_001 }, /max_retry_times is 1001/),
  badJob('a negative retry delay', { retry_policy: { law: 'RETRY_LAW_FIXED', delay: -1 } }, /retry_policy\.delay is -1/),
  badJob('an empty retry list', { retry_policy: { law: 'RETRY_LAW_LIST' } }, /retry_policy\.delays/),
  badJob('101 retry delays', { retry_policy: { law: 'RETRY_LAW_LIST', delays: Array.from({ length: 101 }, () => 1) } }, /retry_policy\.delays/),
  badJob('an execution_timeout of more than a year', { execution_timeout: 367 * 86_400_000 }, /execution_timeout is/),
  badJob('max_lost 0', { max_lost: 0 }, /max_lost is 0/),
  badJob('feedback for nobody', { need_feedback: true }, /submit_node_group/),
  badJob('a submit_node_group that is a path', { submit_node_group: '../x' }, /submit_node_group is "\.\.\/x"/),
  badJob('an instance_id that is none', { instance_id: 'x' }, /instance_id is "x"/),
  badJob('an instance_id in upper case', { instance_id: newId().toUpperCase() }, /instance_id/),
  badJob('an instance_id from the future', { instance_id: future }, /future/),
  badJob('an instance_id older than the retention', { instance_id: ancient }, /retention/),
  badJob('a cron expression of 257 characters', { cron_expression: '*'.repeat(257) }, /cron_expression is "\*{100}…"/),
  badJob('a cron expression that is none', { cron_expression: 'every monday' }, /every monday/, 'CRON_INVALID'),
  badJob('a cron expression that can be read in two ways', { cron_expression: '0 0 3 * * 1' }, /0 0 3 \? \* 1.*QUARTZ.*UNIX/, 'CRON_INVALID'),
  badJob('a cron expression that never fires', { cron_expression: '0 0 30 2 *' }, /0 0 30 2 \*.*never fires/),
  badJob('6 fields as UNIX', { cron_expression: '0 0 3 * * ?', cron_dialect: 'CRON_DIALECT_UNIX' }, /UNIX has 5 fields/, 'CRON_INVALID'),
  badJob('a time zone that is none', { cron_expression: '@daily', time_zone: 'Europe/Atlantis' }, /Europe\/Atlantis/),
  badJob('a time zone that is a path', { cron_expression: '@daily', time_zone: '../../etc/passwd\0' }, /time_zone is/),
  badJob('a dialect without an expression', { cron_dialect: 'CRON_DIALECT_UNIX' }, /cron_dialect is CRON_DIALECT_UNIX without cron_expression/),
  badJob('cron and interval', { cron_expression: '@daily', repeat_interval: 1_000 }, /repeat_interval 1000/),
  badJob('an interval alone', { repeat_interval: 1_000 }, /repeat_interval is 1000 and repeat_count is 0 or left out/),
  badJob('a negative interval', { repeat_interval: -1, repeat_count: 1 }, /repeat_interval is -1/),
  badJob('a repeat_count of -2', { repeat_interval: 1_000, repeat_count: -2 }, /repeat_count is -2/),
  badJob('a misfire threshold below 0', { cron_expression: '@daily', misfire_policy: { threshold: -1 } }, /misfire_policy\.threshold is -1/),
  badJob('1,001 of the newest', { cron_expression: '@daily', misfire_policy: { action: 'MISFIRE_ACTION_FIRE_ALL', newest: 1_001 } }, /misfire_policy\.newest is 1001/),
  badJob('1,001 in the queue', { cron_expression: '@daily', blocking_policy: { strategy: 'BLOCKING_STRATEGY_SERIAL', limit: 1_001 } }, /blocking_policy\.limit is 1001/),
  badJob('CONCURRENT that relies on the run before', { cron_expression: '@daily', blocking_policy: { strategy: 'BLOCKING_STRATEGY_CONCURRENT' } }, /CONCURRENT while rely_on_prev_cycle is true/),
  badJob('an end before the start', { cron_expression: '@daily', start_time: 2_000_000_000_000, end_time: 1_000 }, /end_time is 1000/),
  badJob('a window that begins at 25:00', { repeat_interval: 60_000, daily_window: { from: '25:00', to: '26:00' } }, /daily_window\.from is "25:00"/),
  badJob('a window without its end', { repeat_interval: 60_000, daily_window: { from: '09:00' } }, /daily_window\.to/),
  badJob('a weekday 8', { repeat_interval: 60_000, daily_window: { from: '09:00', to: '10:00', weekdays: [8] } }, /daily_window\.weekdays\[0\] is 8/),
  taken('a schedule with all its fields at their limits', {
    job: {
      ...job,
      task_id: 'schedule-at-the-limits',
      cron_expression: `0 0 0 1 1 ? ${'2099'.padStart(244)}`,
      cron_dialect: 'CRON_DIALECT_QUARTZ',
      time_zone: 'America/Argentina/ComodRivadavia',
      dst_gap: 'DST_GAP_POLICY_RUN_BEFORE',
      dst_overlap: 'DST_OVERLAP_POLICY_BOTH',
      rely_on_prev_cycle: false,
      misfire_policy: { action: 'MISFIRE_ACTION_FIRE_ALL', threshold: 366 * 86_400_000, newest: 1_000, window: 366 * 86_400_000 },
      blocking_policy: { strategy: 'BLOCKING_STRATEGY_CONCURRENT', limit: 1_000 },
      end_time: lastTime,
    },
  }),
  taken('a repeat with its fields at their limits', {
    job: { ...job, task_id: 'repeat-at-the-limits', repeat_interval: 366 * 86_400_000, repeat_count: 2 ** 31 - 1, trigger_time: 4_000_000_000_000, start_time: 4_000_000_000_000 },
  }),
  taken('all at their limits', {
    job: {
      task_id: 'x'.repeat(128),
      node_group: 'g'.repeat(64),
      type: 't'.repeat(128),
      content_type: 'c'.repeat(128),
      payload: Buffer.alloc(1024 * 1024),
      ext_params: Object.fromEntries(Array.from({ length: 64 }, (_, n) => [String(n).padEnd(128, 'k'), 'v'.repeat(8_192)])),
      priority: -(2 ** 31),
      trigger_time: lastTime,
      max_retry_times: 1_000,
      retry_policy: { law: 'RETRY_LAW_LIST', delays: Array.from({ length: 100 }, () => 366 * 86_400_000) },
      need_feedback: true,
      submit_node_group: 's'.repeat(64),
      execution_timeout: 366 * 86_400_000,
      on_worker_loss: 'ON_WORKER_LOSS_FAIL',
      max_lost: 1_000,
    },
  }),
];

const badTargets: RequestCase[] = [
  refused('nothing', {}, /instance_id/),
  refused('an instance_id that is none', { instance_id: '../../etc/passwd' }, /instance_id is "\.\.\/\.\.\/etc\/passwd"/),
  missing('an unknown instance_id', { instance_id: unknownId }),
  missing('an unknown task', { task_id: 'nobody', node_group: 'hostile' }),
  refused('a task without its group', { task_id: 'valid' }, /node_group/),
];

const target = (id: string): object => ({ instance_id: id });

const noSchedule = (name: string, request: object): RequestCase => ({ name, request, code: status.NOT_FOUND, reason: 'NOT_FOUND', says: /no.*schedule/ });

const badNames: RequestCase[] = [
  refused('nothing', {}, /node_group is ""|task_id is ""/),
  refused('no task_id', { node_group: 'hostile' }, /task_id is ""/),
  refused('no node_group', { task_id: 'yearly' }, /node_group is ""/),
  refused('a task_id of 129 characters', { task_id: 'x'.repeat(129), node_group: 'hostile' }, /task_id is "x{100}…"/),
  refused('a node_group that is a path', { task_id: 'x', node_group: '../other' }, /node_group is "\.\.\/other"/),
  noSchedule('an unknown task', { task_id: 'nobody', node_group: 'hostile' }),
  noSchedule('an unknown group', { task_id: 'yearly', node_group: 'nobody' }),
  noSchedule('a job that is no schedule', { task_id: 'known', node_group: 'hostile' }),
];

/** All RPCs with one request. */
export const requestRpcs: Record<string, RequestRpc> = {
  'JobService/SubmitJob': { type: 'SubmitJobRequest', valid: () => ({ job }), cases: jobCases },
  'JobService/SubmitJobs': {
    type: 'SubmitJobsRequest',
    valid: () => ({ jobs: [job] }),
    cases: [
      refused('nothing', {}, /jobs has 0 entries/),
      refused('1,001 jobs', { jobs: Array.from({ length: 1_001 }, () => job) }, /jobs has 1001 entries/),
      taken('1,000 jobs', { jobs: Array.from({ length: 1_000 }, (_, n) => ({ ...job, task_id: `many-${n}` })) }),
    ],
  },
  'JobService/CancelJob': {
    type: 'CancelJobRequest',
    valid: (id) => ({ instance_id: id, node_group: 'hostile' }),
    cases: [
      refused('nothing', {}, /node_group is ""/),
      refused('no instance and no task', { node_group: 'hostile' }, /instance_id/),
      refused('an instance_id that is none', { instance_id: 'x', node_group: 'hostile' }, /instance_id is "x"/),
      refused('a task_id that none can have', { task_id: 'x'.repeat(129), node_group: 'hostile' }, /task_id is/),
      refused('a node_group of 65 characters', { task_id: 'x', node_group: 'g'.repeat(65) }, /node_group is/),
      missing('an unknown instance', { instance_id: unknownId, node_group: 'hostile' }),
      missing('an unknown task', { task_id: 'nobody', node_group: 'hostile' }),
      missing('an unknown group', { task_id: 'valid', node_group: 'nobody' }),
    ],
  },
  'ScheduleService/GetSchedule': { type: 'GetScheduleRequest', valid: () => yearlyName, cases: badNames, needs: yearly },
  'ScheduleService/ListSchedules': {
    type: 'ListSchedulesRequest',
    valid: () => ({ node_group: 'hostile' }),
    cases: [
      taken('nothing', {}),
      refused('a negative page_size', { page_size: -1 }, /page_size is -1/),
      refused('a page_size of 1,001', { page_size: 1_001 }, /page_size is 1001/),
      refused('a page_token that is none', { page_token: "'; DROP TABLE schedule" }, /page_token is "'; DROP TABLE schedule"/),
      refused('a node_group that is a path', { node_group: '../other' }, /node_group is "\.\.\/other"/),
    ],
  },
  'ScheduleService/SuspendSchedule': { type: 'SuspendScheduleRequest', valid: () => yearlyName, cases: badNames, needs: yearly },
  'ScheduleService/ResumeSchedule': { type: 'ResumeScheduleRequest', valid: () => yearlyName, cases: badNames, needs: yearly },
  'ScheduleService/DeleteSchedule': { type: 'DeleteScheduleRequest', valid: () => yearlyName, cases: badNames, needs: yearly },
  'ScheduleService/TriggerSchedule': {
    type: 'TriggerScheduleRequest',
    valid: () => yearlyName,
    needs: yearly,
    cases: [
      ...badNames,
      refused('an instance_id that is none', { ...yearlyName, instance_id: 'x' }, /instance_id is "x"/),
      refused('65 ext_params', { ...yearlyName, ext_params: Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`k${n}`, 'v'])) }, /ext_params is "65 entries"/),
      refused('a payload of 1 MiB and a byte', { ...yearlyName, payload: Buffer.alloc(1024 * 1024 + 1) }, /payload is "?1048577 bytes long/),
      refused('a negative scheduled_time', { ...yearlyName, scheduled_time: -1 }, /scheduled_time is -1/),
      refused('a scheduled_time that no date can show', { ...yearlyName, scheduled_time: 8_640_000_000_000_000 }, /scheduled_time is 8640000000000000.*9999/),
      taken('other parameters and an empty payload', { ...yearlyName, ext_params: { k: 'v' }, payload: Buffer.alloc(0), scheduled_time: 1_000 }),
    ],
  },
  'ScheduleService/PreviewSchedule': {
    type: 'PreviewScheduleRequest',
    valid: () => ({ cron_expression: '@daily' }),
    cases: [
      refused('nothing', {}, /cron_expression is ""/),
      refused('an expression that is none', { cron_expression: 'every monday' }, /every monday/, 'CRON_INVALID'),
      refused('an expression that can be read in two ways', { cron_expression: '0 0 3 * * 1' }, /0 0 3 \? \* 1.*QUARTZ.*UNIX/, 'CRON_INVALID'),
      refused('a time zone that is none', { cron_expression: '@daily', time_zone: 'Europe/Atlantis' }, /Europe\/Atlantis/),
      refused('a count of 1,001', { cron_expression: '@daily', count: 1_001 }, /count is 1001/),
      refused('a negative from', { cron_expression: '@daily', from: -1 }, /from is -1/),
      refused('a from that no date can show', { cron_expression: '@daily', from: 8_640_000_000_000_000 }, /from is 8640000000000000.*9999/),
      taken('an expression that never fires', { cron_expression: '0 0 30 2 *' }),
      taken('1,000 fires to the end of time', { cron_expression: '0 0 29 2 *', from: 1, count: 1_000 }),
      taken('after the end of time', { cron_expression: '* * * * *', from: lastTime }),
    ],
  },
  'AdminService/GetInstance': { type: 'GetInstanceRequest', valid: target, cases: badTargets },
  'AdminService/ExplainInstance': { type: 'ExplainInstanceRequest', valid: target, cases: badTargets },
  'AdminService/ListInstances': {
    type: 'ListInstancesRequest',
    valid: () => ({ node_group: 'hostile' }),
    cases: [
      taken('nothing', {}),
      refused('a negative page_size', { page_size: -1 }, /page_size is -1/),
      refused('a page_size of 1,001', { page_size: 1_001 }, /page_size is 1001/),
      refused('a page_token that is none', { page_token: '1 OR 1=1' }, /page_token is "1 OR 1=1"/),
      refused('a negative page_token', { page_token: '-1' }, /page_token is "-1"/),
      refused('the state 0', { states: ['INSTANCE_STATE_UNSPECIFIED'] }, /states/),
    ],
  },
  'AdminService/ListAttempts': { type: 'ListAttemptsRequest', valid: target, cases: badTargets.slice(0, 3) },
  'AdminService/ListLogs': {
    type: 'ListLogsRequest',
    valid: target,
    cases: [
      ...badTargets.slice(0, 3),
      refused('a page_size of 10,001', { instance_id: unknownId, page_size: 10_001 }, /page_size is 10001/),
      refused('a page_token that is none', { instance_id: unknownId, page_token: 'x' }, /page_token is "x"/),
      refused('a negative attempt', { instance_id: unknownId, attempt: -1 }, /attempt is -1/),
    ],
  },
  'AdminService/ListQueues': { type: 'ListQueuesRequest', valid: () => ({}), cases: [taken('nothing', {}), taken('an unknown group', { node_group: '../x' })] },
  'AdminService/DrainNode': {
    type: 'DrainNodeRequest',
    valid: () => ({ node_id: worker }),
    cases: [
      refused('nothing', {}, /node_id is ""/),
      refused('a node_id of 129 characters', { node_id: 'n'.repeat(129) }, /node_id is "n+…"/),
      refused('a node_id with NUL', { node_id: 'a\0b' }, /node_id is/),
      { name: 'an unknown node', request: { node_id: 'nobody' }, code: status.NOT_FOUND, reason: 'NOT_FOUND', says: /"nobody"; known are .*worker/ },
      taken('a worker', { node_id: worker }),
    ],
  },
  'AdminService/UndrainNode': {
    type: 'UndrainNodeRequest',
    valid: () => ({ node_id: worker }),
    cases: [
      refused('nothing', {}, /node_id is ""/),
      { name: 'an unknown node', request: { node_id: 'nobody' }, code: status.NOT_FOUND, reason: 'NOT_FOUND', says: /"nobody" is not drained/ },
      taken('a worker', { node_id: worker }),
    ],
  },
  'AdminService/SetGroupLimits': {
    type: 'SetGroupLimitsRequest',
    valid: () => ({ node_group: 'limited', limits: { max_running: 5 } }),
    cases: [
      refused('nothing', {}, /node_group is ""/),
      refused('no limit', { node_group: 'limited', limits: {} }, /names no limit/),
      refused('a backlog of -2', { node_group: 'limited', limits: { backlog: -2 } }, /limits\.backlog is -2/),
      refused('a max_running of -2', { node_group: 'limited', limits: { max_running: -2 } }, /limits\.max_running is -2/),
      refused('a rate of 0', { node_group: 'limited', limits: { starts_per_second: 0 } }, /limits\.starts_per_second is 0; .*max_running/),
      refused('a rate that is no number', { node_group: 'limited', limits: { starts_per_second: Number.NaN } }, /limits\.starts_per_second is NaN/),
      taken('all at their ends', { node_group: 'limited', limits: { backlog: 0, max_running: 0, starts_per_second: 0.001 } }),
      taken('the removal of what is not set', { node_group: 'nobody', limits: { backlog: -1, max_running: -1, starts_per_second: -1 } }),
    ],
  },
  'AdminService/ListNodes': { type: 'ListNodesRequest', valid: () => ({}), cases: [taken('nothing', {})] },
  'AdminService/GetCluster': { type: 'GetClusterRequest', valid: () => ({}), cases: [taken('nothing', {})] },
  'AdminService/ListFeedback': {
    type: 'ListFeedbackRequest',
    valid: () => ({}),
    cases: [taken('nothing', {}), refused('a page_size of 1,001', { page_size: 1_001 }, /page_size is 1001/), refused('a negative page_size', { page_size: -1 }, /page_size is -1/)],
  },
  'AdminService/ResendFeedback': {
    type: 'ResendFeedbackRequest',
    valid: (id) => ({ feedback_ids: [id] }),
    cases: [refused('nothing', {}, /feedback_ids/), taken('an unknown id', { feedback_ids: [unknownId, 'x', ''] }), taken('an unknown group', { submit_node_group: 'nobody' })],
  },
  'ClusterService/WatchCluster': { type: 'WatchClusterRequest', valid: () => ({}), cases: [taken('nothing', {})] },
  'FailStoreService/ListEntries': {
    type: 'ListEntriesRequest',
    valid: () => ({}),
    cases: [taken('nothing', {}), refused('a page_size of 1,001', { page_size: 1_001 }, /page_size is 1001/), refused('a negative page_size', { page_size: -1 }, /page_size is -1/)],
  },
  'FailStoreService/ResendEntries': {
    type: 'ResendEntriesRequest',
    valid: () => ({ entry_ids: [unknownId] }),
    cases: [taken('nothing', {}), refused('1,001 entries', { entry_ids: Array.from({ length: 1_001 }, () => 'x') }, /entry_ids has 1001 entries/)],
  },
};
