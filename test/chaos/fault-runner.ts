import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../shared/time/clock.js';
import { hostMs } from './host-clock.js';
import { inject } from './inject.js';
import type { Fault } from './plan.js';
import type { Topology } from './topology.js';
import type { WitnessTail } from './witness-tail.js';

/** A fault as it happened. */
export interface Happened extends Fault {
  /** Milliseconds from its healing until every group had begun a run; undefined while one has not. */
  recoveredMs?: number;
  /** It could not be made. */
  failed?: string;
}

/** Carries out a plan and writes down what happens, in `faults.jsonl`. */
export class FaultRunner {
  readonly happened: Happened[] = [];
  readonly #topology: Topology;
  readonly #tail: WitnessTail;
  readonly #file: string;
  readonly #begun = hostMs();

  constructor(topology: Topology, tail: WitnessTail, folder: string) {
    this.#topology = topology;
    this.#tail = tail;
    this.#file = join(folder, 'faults.jsonl');
  }

  /** Resolves when the last fault is healed and all parts are at work again. */
  async run(plan: readonly Fault[]): Promise<void> {
    await Promise.all(plan.map((fault) => this.#one({ ...fault })));
  }

  /** Adds a line to the log of the faults, with the time since its beginning. */
  write(line: object): void {
    appendFileSync(this.#file, `${JSON.stringify({ at: new Date(systemClock.now()).toISOString(), ms: Math.round(hostMs() - this.#begun), ...line })}\n`);
  }

  async #one(fault: Happened): Promise<void> {
    await this.#until(fault.atMs);
    this.happened.push(fault);
    this.write({ event: 'begin', ...fault });
    try {
      const heal = await inject(this.#topology, fault);
      await this.#until(fault.atMs + fault.forMs);
      await heal();
    } catch (error) {
      fault.failed = error instanceof Error ? error.message : String(error);
    }
    const healedAt = hostMs();
    this.write({ event: 'healed', n: fault.n, kind: fault.kind, target: fault.target, failed: fault.failed });
    this.#tail.whenAllWork(healedAt, (at) => {
      fault.recoveredMs = at - healedAt;
      this.write({ event: 'recovered', n: fault.n, afterMs: fault.recoveredMs });
    });
  }

  #until(ms: number): Promise<void> {
    return systemClock.sleep(this.#begun + ms - hostMs());
  }
}
