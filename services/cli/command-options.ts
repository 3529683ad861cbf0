import { bool, choice, decimal, duration, int, list, orNone, text } from '../../shared/config/kinds.js';

// The options of the commands that call a server; --kebab-case follows from the key. They hold in no environment and
// no file: what a command does is told on its line alone.

const taskId = { schema: text({ word: 'id' }), description: 'The task_id of the job.' };
const group = { schema: text(), description: 'The node_group of the job.' };

/** Names one instance when no instance id is given. */
export const whichOptions = { taskId, group };

const stateNames = ['WAITING', 'READY', 'EXECUTING', 'CANCELLING', 'SUCCEEDED', 'FAILED', 'CANCELLED', 'REPLACED', 'LOST', 'MISSED', 'DISCARDED'] as const;
const param = { schema: list(text({ pattern: /^[^=]+=/, form: 'name=value', word: 'name=value', max: 8_400 }), { commas: false }), description: 'An entry of ext_params; may be repeated.' };

/** What makes a job a schedule. */
export const firingOptions = {
  cron: { schema: text({ max: 256, word: 'expression' }), description: 'Fires by a cron expression, such as "0 3 * * *", "0 0 3 ? * MON-FRI" or @daily.' },
  dialect: { schema: choice(['auto', 'unix', 'quartz']), description: 'How --cron is read: unix has 5 fields, quartz 6 or 7 with seconds first; without it: auto, by its form.' },
  zone: { schema: text({ max: 64, word: 'zone' }), description: 'Time zone of --cron and --window, such as Europe/Berlin; without it: UTC.' },
  gap: { schema: choice(['skip', 'run-before', 'run-after']), description: 'A time of --cron that the clock skips; without it: once a day, after the gap.' },
  overlap: { schema: choice(['first', 'second', 'both']), description: 'A time of --cron that comes twice; without it: once a day, at the first one.' },
  repeatEvery: { schema: duration({ min: 1 }), description: 'Fires at this interval, from --trigger-time or now on, or within --window.' },
  repeatCount: { schema: int({ min: -1, max: 2_147_483_647 }), description: 'How many runs --repeat-every makes in all; -1, or without it: without end.' },
  fixedDelay: { schema: bool(), description: 'Counts --repeat-every from the end of a run to the next fire, not from fire to fire.' },
  rely: { schema: choice(['true', 'false']), description: 'false: every scheduled time is owed, and runs may overlap (rely_on_prev_cycle); without it: true.' },
  misfire: { schema: choice(['skip', 'fire-once', 'fire-all']), description: 'Which of the times run at which nobody could fire; without it: fire-once, the newest.' },
  misfireThreshold: { schema: duration(), description: 'A fire that is less late is not missed; without it: 60s.' },
  misfireNewest: { schema: int({ min: 1, max: 1_000 }), description: 'Of --misfire fire-all: only the newest so many; without it: 100.' },
  misfireWindow: { schema: duration(), description: 'Of --misfire fire-all: only those that are no older.' },
  blocking: { schema: choice(['serial', 'discard-later', 'cover-early', 'concurrent']), description: 'A fire that finds a run still going; without it: discard-later. concurrent: it runs beside the others (and --rely is false).' },
  blockingLimit: { schema: int({ min: 0, max: 1_000 }), description: 'Of --blocking serial: how many wait (1); of concurrent: how many run at once (any number).' },
  start: { schema: text({ word: 'time' }), description: 'Nothing fires before: a time as in --trigger-time.' },
  end: { schema: text({ word: 'time' }), description: 'Nothing fires after.' },
  window: { schema: text({ word: 'from-to' }), description: 'Fires in this part of each day, such as 09:00-17:00, at its begin and then every --repeat-every.' },
  weekdays: { schema: list(text({ word: 'days' })), description: 'Of --window: only those that begin on these days, such as MON-FRI.' },
} as const;

export const submitOptions = {
  taskId,
  group,
  type: { schema: text(), description: 'The runner within the TaskTracker; without it: default.' },
  payload: { schema: text({ max: 1_048_576 }), description: 'The payload as text (content type text/plain).' },
  payloadFile: { schema: text({ word: 'file' }), description: 'The payload from a file; - reads standard input.' },
  json: { schema: text({ max: 1_048_576, word: 'json' }), description: 'The payload as JSON, checked here (content type application/json).' },
  contentType: { schema: text(), description: 'Media type of the payload.' },
  param,
  priority: { schema: int({ min: -2_147_483_648, max: 2_147_483_647 }), description: 'Smaller runs first; without it: 100.' },
  triggerTime: { schema: text({ word: 'time' }), description: 'Earliest start: 2026-12-31T23:00:00Z, +5s, or milliseconds since 1970.' },
  maxRetryTimes: { schema: int({ min: 0, max: 1_000 }), description: 'How often it may run again after LATER or EXCEPTION; without it: 0.' },
  retryDelay: { schema: list(duration()), description: 'Delay before a retry; without it: 30s. Several, with commas: one per retry.' },
  retryMaxDelay: { schema: duration(), description: 'Makes the delay double each time, up to this.' },
  needFeedback: { schema: bool(), description: 'The result is owed to the --submit-group.' },
  submitGroup: { schema: text(), description: 'The JobClient group that receives the result.' },
  replace: { schema: bool(), description: 'Replaces a waiting job of the same task and group.' },
  timeoutRun: { schema: duration(), description: 'Longest run of one attempt; without it: no limit.' },
  onWorkerLoss: { schema: choice(['requeue', 'fail']), description: 'What becomes of a run whose worker is lost; without it: requeue.' },
  maxLost: { schema: int({ min: 1 }), description: 'After so many lost workers the job ends as LOST; without it: 3.' },
  ...firingOptions,
  instanceId: { schema: text({ word: 'id' }), description: 'UUIDv7 of the submission, to send it again; without it a new one is made.' },
  file: { schema: text({ word: 'file' }), description: 'A batch: one job per line as JSON, with the snake_case field names of lts.v1.Job and the payload as base64 (or payload_text, payload_json); - reads standard input.' },
  wait: { schema: bool(), default: false, description: 'Waits until the jobs have ended.' },
  waitTimeout: { schema: duration(), default: '10m', description: 'How long --wait waits.' },
} as const;

export const listJobsOptions = {
  taskId: { ...taskId, description: 'Only this task.' },
  group: { ...group, description: 'Only this group.' },
  state: { schema: list(choice(stateNames)), description: 'Only these states; may be repeated.' },
  limit: { schema: int({ min: 1, max: 100_000 }), default: 50, description: 'At most so many, newest first.' },
} as const;

export const listSchedulesOptions = {
  group: { ...group, description: 'Only this group.' },
  state: { schema: choice(['ACTIVE', 'SUSPENDED']), description: 'Only in this state.' },
  limit: { schema: int({ min: 1, max: 100_000 }), default: 100, description: 'At most so many, by group and task.' },
} as const;

export const triggerOptions = {
  ...whichOptions,
  param: { ...param, description: 'An entry of ext_params; may be repeated. With one, those of the job are left out.' },
  payload: { schema: text({ max: 1_048_576 }), description: 'In place of the payload of the job.' },
  at: { schema: text({ word: 'time' }), description: 'The scheduled time for which the run stands, such as one that was missed: 2026-12-31T23:00:00Z, or milliseconds since 1970; not after now; without it: now.' },
} as const;

export const logsOptions = {
  ...whichOptions,
  attempt: { schema: int({ min: 1 }), description: 'Only this attempt.' },
  follow: { schema: bool(), default: false, description: 'Goes on until the job has ended.' },
} as const;

export const checkOptions = {
  self: { schema: bool(), default: false, description: 'The services of this host that have this data folder, which also works for workers, that open no port.' },
  ready: { schema: bool(), default: false, description: 'Whether it takes work now; without it: whether it lives.' },
  dataDir: { schema: text({ word: 'folder' }), description: 'Of --self; without it: that of the settings (LTS_DATA_DIR, --config, ./data).' },
  config: { schema: text({ word: 'file' }), description: 'Of --self: the settings of the service; LTS_CONFIG.' },
} as const;

export const queueOptions = { group: { ...group, description: 'Only this group.' } } as const;

export const queueLimitOptions = {
  backlog: { schema: orNone(int({ min: 0 })), description: 'Jobs that may wait or be ready; more are refused.' },
  maxRunning: { schema: orNone(int({ min: 0, max: 2_147_483_647 })), description: 'Attempts at once, over all workers; 0 holds the group.' },
  startsPerSecond: { schema: orNone(decimal({ min: 0.001, max: 1_000_000 })), description: 'Attempts that begin per second, such as 0.5.' },
} as const;

export const previewOptions = {
  cron: { schema: text({ word: 'expression' }), description: 'The cron expression, such as "0 12 * * MON-FRI".' },
  dialect: { schema: text({ word: 'auto|unix|quartz' }), description: 'How it is read; without it: auto, which refuses what can be read in two ways.' },
  zone: { schema: text(), description: 'Time zone by its IANA name, such as Europe/Berlin; without it: UTC.' },
  from: { schema: text({ word: 'time' }), description: 'The first instant that may be shown: 2026-12-31T23:00:00Z, or milliseconds since 1970; without it: now.' },
  count: { schema: int({ min: 1, max: 10_000 }), default: 10, description: 'How many fires are shown.' },
  gap: { schema: text({ word: 'skip|run-before|run-after' }), description: 'What becomes of local times that clocks skip; without it: see the README.' },
  overlap: { schema: text({ word: 'first|second|both' }), description: 'What becomes of local times that clocks repeat; without it: see the README.' },
  spread: { schema: text({ max: 256 }), description: 'What H and @every are spread by, as group/task of a job; without it they are not spread.' },
  window: { schema: text({ word: 'from-to' }), description: 'In place of --cron: a part of each day, such as 09:00-17:00; past midnight when from is later.' },
  every: { schema: duration({ min: 1_000 }), description: 'Of --window: the interval within it, from its begin on.' },
  weekdays: { schema: list(text({ word: 'days' })), description: 'Of --window: only those that begin on these days, such as MON-FRI.' },
  stdin: { schema: bool(), default: false, description: 'In place of --cron: one request per line as JSON {"cron","dialect","zone","from","count"}, all but cron optional; one answer per line, in the same order.' },
  json: { schema: bool(), default: false, description: 'Prints {"fires":[…]} or {"error":"…"} on one line, as --stdin does.' },
} as const;

export const failStoreListOptions = {
  dead: { schema: bool(), default: false, description: 'Only those that were refused for good.' },
  limit: { schema: int({ min: 1, max: 1_000 }), default: 100, description: 'At most so many.' },
} as const;

export const feedbackListOptions = {
  submitGroup: { schema: text(), description: 'Only results owed to this JobClient group.' },
  ...failStoreListOptions,
} as const;

export const feedbackResendOptions = {
  submitGroup: { schema: text(), description: 'All dead results owed to this JobClient group.' },
} as const;
