import type { LogLevel__Output } from '../../../shared/grpc/generated/lts/v1/LogLevel.js';
import type { Mastership } from '../../../shared/master/master-lease.js';
import type { Clock } from '../../../shared/time/clock.js';
import { capText } from '../report/text.js';
import type { Outbox } from '../report/outbox.js';
import type { Run } from './run.js';
import type { RunnerContext, RunnerJob, RunnerLog } from './runner.js';

/** A run that writes more than this loses the rest, with a mark that says so. */
export const maxLines = 1_000;
export const maxLineBytes = 1024 * 1024;
const maxProgressBytes = 1_024;

/** What contexts need of their surroundings. */
export interface ContextPorts {
  outbox: Outbox;
  clock: Clock;
  mastership: () => Mastership;
}

/** The context of one run. Everything costly is made when it is asked for. */
export class JobContext implements RunnerContext {
  readonly #run: Run;
  readonly #ports: ContextPorts;
  #log: RunnerLog | undefined;

  constructor(run: Run, ports: ContextPorts) {
    this.#run = run;
    this.#ports = ports;
  }

  get job(): RunnerJob {
    return this.#run.job;
  }

  get signal(): AbortSignal {
    return this.#run.signal;
  }

  get instanceId(): string {
    return this.#run.facts.instanceId;
  }

  get attempt(): number {
    return this.#run.facts.attempt;
  }

  get scheduledTime(): Date {
    return new Date(this.#run.facts.scheduledTime);
  }

  get scheduled(): boolean {
    return this.#run.job.scheduled;
  }

  get fencingToken(): number {
    return this.#run.facts.fencingToken;
  }

  get retryTimes(): number {
    return this.#run.facts.retryTimes;
  }

  get mastership(): Mastership {
    return this.#ports.mastership();
  }

  get log(): RunnerLog {
    return (this.#log ??= {
      debug: (text) => this.#write('LOG_LEVEL_DEBUG', text),
      info: (text) => this.#write('LOG_LEVEL_INFO', text),
      warn: (text) => this.#write('LOG_LEVEL_WARN', text),
      error: (text) => this.#write('LOG_LEVEL_ERROR', text),
    });
  }

  get progress(): (fraction: number, text?: string) => void {
    return (fraction, text = '') => {
      if (this.#run.endedAt !== 0) return;
      const progress = Number.isFinite(fraction) ? Math.min(Math.max(fraction, 0), 1) : 0;
      this.#ports.outbox.progress({ handle: this.#run.facts.handle, progress, text: capText(String(text), maxProgressBytes).text });
    };
  }

  #write(level: LogLevel__Output, raw: string): void {
    const run = this.#run;
    // What a run leaves behind must not write in its name after its end.
    if (run.endedAt !== 0 || run.lines > maxLines) return;
    const { text, truncated } = capText(String(raw));
    run.lines++;
    run.lineBytes += text.length;
    const at = this.#ports.clock.now();
    const { handle } = run.facts;
    if (run.lines <= maxLines && run.lineBytes <= maxLineBytes) {
      this.#ports.outbox.line({ handle, at, level, text, truncated });
      return;
    }
    run.lines = maxLines + 1;
    const mark = `more lines were dropped: a run may write ${maxLines} lines and ${maxLineBytes / 1024} KiB`;
    this.#ports.outbox.line({ handle, at, level: 'LOG_LEVEL_WARN', text: mark, truncated: true });
  }
}
