import { readFileSync } from 'node:fs';
import { systemClock } from '../../../shared/time/clock.js';

const everyMs = 500;

/** Resident memory of a process in MB (10^6 bytes). */
export function rssMb(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return (Number(kib) * 1_024) / 1e6;
}

/** Watches a process until it is told to stop; gives the most that it had. */
export function watchRss(pid: number): () => number {
  let most = rssMb(pid);
  let timer = systemClock.after(everyMs, look);
  function look(): void {
    most = Math.max(most, rssMb(pid));
    timer = systemClock.after(everyMs, look);
  }
  return () => {
    timer.cancel();
    return Math.max(most, rssMb(pid));
  };
}
