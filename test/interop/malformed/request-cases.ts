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
}

/** A worker that is connected meanwhile. */
export const worker = 'worker-to-drain';

const job = { task_id: 'valid', node_group: 'hostile' };
const unknownId = newId();
const future = 'ffffffff-ffff-7000-8000-000000000000';
const ancient = '00000000-0000-7000-8000-000000000000';

const refused = (name: string, request: object, says: RegExp): RequestCase => ({ name, request, code: status.INVALID_ARGUMENT, reason: 'INVALID_ARGUMENT', says });
const taken = (name: string, request: object): RequestCase => ({ name, request, code: status.OK });
const missing = (name: string, request: object): RequestCase => ({ name, request, code: status.NOT_FOUND, reason: 'INSTANCE_NOT_FOUND', says: /there is no|has no/ });

const badJob = (name: string, fields: object, says: RegExp): RequestCase => refused(name, { job: { ...job, ...fields } }, says);

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
  taken('all at their limits', {
    job: {
      task_id: 'x'.repeat(128),
      node_group: 'g'.repeat(64),
      type: 't'.repeat(128),
      content_type: 'c'.repeat(128),
      payload: Buffer.alloc(1024 * 1024),
      ext_params: Object.fromEntries(Array.from({ length: 64 }, (_, n) => [String(n).padEnd(128, 'k'), 'v'.repeat(8_192)])),
      priority: -(2 ** 31),
      trigger_time: Number.MAX_SAFE_INTEGER,
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
