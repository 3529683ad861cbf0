import { LtsError } from '../../../shared/errors/lts-error.js';
import { quoted } from '../../../shared/errors/quoted.js';
import type { GroupLimits as GroupLimitsView } from '../../../shared/grpc/generated/lts/v1/GroupLimits.js';
import type { SetGroupLimitsRequest__Output } from '../../../shared/grpc/generated/lts/v1/SetGroupLimitsRequest.js';
import { groupForm } from '../../../shared/job/check-job.js';
import type { LimitChange } from '../dispatch/limit-setting.js';
import type { GroupLimits } from '../queue/queue-store.js';

/** Removes a limit. */
const remove = -1;

/** Undefined: the group has no limits of its own. */
export function toLimits(limits: GroupLimits | undefined): GroupLimitsView | undefined {
  const { backlog, maxRunning, startsPerSecond } = limits ?? {};
  if (backlog === undefined && maxRunning === undefined && startsPerSecond === undefined) return undefined;
  return {
    ...(backlog === undefined ? {} : { backlog }),
    ...(maxRunning === undefined ? {} : { max_running: maxRunning }),
    ...(startsPerSecond === undefined ? {} : { starts_per_second: startsPerSecond }),
  };
}

/** Throws INVALID_ARGUMENT. */
export function toLimitChange({ node_group: group, limits }: SetGroupLimitsRequest__Output): LimitChange {
  if (!groupForm.test(group)) throw new LtsError('INVALID_ARGUMENT', `node_group is ${quoted(group)}; name the group whose limits to set`);
  const { backlog, max_running: maxRunning, starts_per_second: startsPerSecond } = limits ?? {};
  const change = {
    ...checked('backlog', backlog, (value) => Number.isSafeInteger(value) && value >= 0, 'use a whole number from 0'),
    ...checked('maxRunning', maxRunning, (value) => value >= 0, 'use a whole number from 0'),
    ...checked('startsPerSecond', startsPerSecond, (value) => value >= 0.001 && value <= 1_000_000, 'use 0.001 to 1,000,000; to hold the group, set max_running to 0'),
  };
  if (Object.keys(change).length === 0) throw new LtsError('INVALID_ARGUMENT', 'limits names no limit; set backlog, max_running or starts_per_second');
  return change;
}

function checked(name: keyof GroupLimits, value: number | undefined, fits: (value: number) => boolean, rule: string): LimitChange {
  if (value === undefined) return {};
  if (value === remove) return { [name]: null };
  if (fits(value)) return { [name]: value };
  const field = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  throw new LtsError('INVALID_ARGUMENT', `limits.${field} is ${value}; ${rule}, or -1 to remove the limit`);
}
