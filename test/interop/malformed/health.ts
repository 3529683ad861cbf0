import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import type { SubmitJobResponse__Output } from '../../../shared/grpc/generated/lts/v1/SubmitJobResponse.js';
import type { ServiceProcess } from '../../kit/service-process.js';
import type { Caller } from '../caller.js';

let count = 0;

/** A good job is taken: the service goes on. */
export async function expectTakesJobs(caller: Caller, group = 'after'): Promise<void> {
  const { result } = await caller.call<SubmitJobResponse__Output>('JobService/SubmitJob', { job: { task_id: `good-${count++}`, node_group: group } });
  expect(result?.outcome).toBe('SUBMIT_OUTCOME_ACCEPTED');
}

const bad = ['rpc.failed', 'process.failed', 'store.failed'];
const seen = new Map<ServiceProcess, number>();

/** The process lives and has met no error that it did not expect since the last look. */
export function expectUnhurt(service: ServiceProcess): void {
  expect(service.ended).toBeUndefined();
  const lines = bad.flatMap((event) => service.logged(event));
  const fresh = lines.slice(seen.get(service) ?? 0);
  seen.set(service, lines.length);
  expect(fresh).toEqual([]);
}

/** Resident memory of a process in MiB. */
export function residentMiB(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kib) / 1024;
}
