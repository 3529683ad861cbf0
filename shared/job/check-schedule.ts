import { checkFields, type FieldCheck, flag, formed, milliseconds, oneOf, refuse, time, type Values, whole } from './field-checks.js';

const int32 = 2 ** 31;
const cronForm = /^[\x20-\x7e]{0,256}$/;
const zoneForm = /^[A-Za-z0-9._+/-]{0,64}$/;
const timeOfDayForm = /^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$/;

/** A message of its own fields; unset in a decoded job it is null. */
function message(checks: Record<string, FieldCheck>): FieldCheck {
  return (value, field) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return refuse(field, value, 'give an object');
    return checkFields(value as Values, checks, `${field}.`);
  };
}

function weekdays(value: unknown, field: string): unknown {
  if (!Array.isArray(value) || value.length > 7) return refuse(field, value, 'give a list of at most 7 days');
  value.forEach((day, index) => whole(1, 7, ' (1 is Monday)')(day, `${field}[${index}]`));
  return value;
}

const timeOfDay = formed(timeOfDayForm, 'give HH:MM or HH:MM:SS', false);

/** The fields that make a job a schedule, each by itself. */
export const scheduleFields: Record<string, FieldCheck> = {
  cron_expression: formed(cronForm, 'give a cron expression of at most 256 printable ASCII characters', true),
  cron_dialect: oneOf(['AUTO', 'UNIX', 'QUARTZ'], 'CRON_DIALECT_'),
  time_zone: formed(zoneForm, 'give an IANA time zone such as Europe/Berlin', true),
  dst_gap: oneOf(['SKIP', 'RUN_BEFORE', 'RUN_AFTER'], 'DST_GAP_POLICY_'),
  dst_overlap: oneOf(['FIRST', 'SECOND', 'BOTH'], 'DST_OVERLAP_POLICY_'),
  repeat_interval: milliseconds,
  repeat_count: whole(-1, int32 - 1, ''),
  repeat_mode: oneOf(['FIXED_RATE', 'FIXED_DELAY'], 'REPEAT_MODE_'),
  rely_on_prev_cycle: flag,
  misfire_policy: message({
    action: oneOf(['SKIP', 'FIRE_ONCE', 'FIRE_ALL'], 'MISFIRE_ACTION_'),
    threshold: milliseconds,
    newest: whole(0, 1_000, ''),
    window: milliseconds,
  }),
  blocking_policy: message({
    strategy: oneOf(['SERIAL', 'DISCARD_LATER', 'COVER_EARLY', 'CONCURRENT'], 'BLOCKING_STRATEGY_'),
    limit: whole(0, 1_000, ''),
  }),
  start_time: time,
  end_time: time,
  daily_window: message({ from: timeOfDay, to: timeOfDay, weekdays }),
};

/** Whether the job fires again and again, of one whose fields go together. */
export function isSchedule({ cron_expression: expression, repeat_interval: interval }: { cron_expression?: string | undefined; repeat_interval?: unknown }): boolean {
  return (expression ?? '') !== '' || Number(interval ?? 0) > 0;
}
