import { readdirSync, readFileSync } from 'node:fs';

interface Ticks {
  /** Of all processors, busy or not. */
  all: number;
  /** Of processes that are not ours. */
  foreign: number;
}

/** How much of this machine other work takes: what is left is what a time limit can count on. */
export class HostLoad {
  #before = look();

  /** Begins anew. */
  restart(): void {
    this.#before = look();
  }

  /** Share of the processors that processes which are not ours have taken since, 0 to 1. */
  get foreign(): number {
    const now = look();
    const all = now.all - this.#before.all;
    return all <= 0 ? 0 : Math.min(1, Math.max(0, (now.foreign - this.#before.foreign) / all));
  }
}

function look(): Ticks {
  const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, softirq = 0, steal = 0] = (readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? '').trim().split(/\s+/).slice(1).map(Number);
  const all = user + nice + system + idle + wait + irq + softirq + steal;
  return { all, foreign: all - idle - wait - ownTicks() };
}

/** Processor time of this process and of everything that it has started, in ticks. */
function ownTicks(): number {
  const processes = new Map<number, { parent: number; ticks: number }>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ').map(Number);
      processes.set(Number(name), { parent: fields[1] ?? 0, ticks: (fields[11] ?? 0) + (fields[12] ?? 0) + (fields[13] ?? 0) + (fields[14] ?? 0) });
    } catch {
      // It ended between the two reads.
    }
  }
  const isOurs = (pid: number): boolean => pid === process.pid || (pid > 1 && isOurs(processes.get(pid)?.parent ?? 0));
  return [...processes].reduce((sum, [pid, { ticks }]) => sum + (isOurs(pid) ? ticks : 0), 0);
}
