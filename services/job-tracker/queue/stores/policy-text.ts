import type { RetryLaw, RunPolicy } from '../queue-store.js';

const defaults: RunPolicy = Object.freeze({ maxRetryTimes: 0, timeoutMs: 0, maxLost: 3, failOnLoss: false });

/** The policy as it is stored; empty for the default one. */
export function policyText(policy: RunPolicy): string {
  if (policy.retry === undefined && policy.maxRetryTimes === 0 && policy.timeoutMs === 0 && policy.maxLost === 3 && !policy.failOnLoss) return '';
  const head = [policy.maxRetryTimes, policy.timeoutMs, policy.maxLost, policy.failOnLoss ? 1 : 0];
  return JSON.stringify(policy.retry === undefined ? head : [...head, policy.retry]);
}

const parsed = new Map<string, RunPolicy>();

/** The policy of a stored text. Shared: it is never changed. */
export function policyOf(text: string | null): RunPolicy {
  if (text === null || text === '') return defaults;
  const known = parsed.get(text);
  if (known !== undefined) return known;
  const [maxRetryTimes, timeoutMs, maxLost, failOnLoss, retry] = JSON.parse(text) as [number, number, number, number, RetryLaw?];
  const policy: RunPolicy = Object.freeze({ maxRetryTimes, timeoutMs, maxLost, failOnLoss: failOnLoss === 1, ...(retry === undefined ? {} : { retry }) });
  // Policies are few as a rule; a flood of different ones must not grow the memory.
  if (parsed.size >= 1_000) parsed.clear();
  parsed.set(text, policy);
  return policy;
}
