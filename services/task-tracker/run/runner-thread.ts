import { parentPort, workerData } from 'node:worker_threads';
import { LtsError } from '../../../shared/errors/lts-error.js';
import { systemClock } from '../../../shared/time/clock.js';
import { Outbox } from '../report/outbox.js';
import { loadRunners } from './load-runners.js';
import { runJob } from './run-job.js';
import { makeRunnerTable, type RunnerTable } from './runner-table.js';
import { Run } from './run.js';
import type { RunnerThreadSettings, ToRunnerThread } from './thread-messages.js';

/** The entry of a runner's own thread: runs one task at a time, as the main thread would. */
function serve(port: NonNullable<typeof parentPort>, runners: RunnerTable): void {
  const outbox = new Outbox((message) => port.postMessage(message), systemClock);
  let current: Run | undefined;
  port.on('message', (message: ToRunnerThread) => {
    if (message.kind === 'abort') return current?.abort(message.why);
    current = new Run(message.facts, Buffer.from(message.job));
    const { mastership } = message;
    runJob(current, { runners, outbox, clock: systemClock, mastership: () => mastership, onEnd: () => undefined });
  });
}

if (parentPort === null) throw new LtsError('INTERNAL', 'the runner thread is started by the worker only');
const { url } = workerData as RunnerThreadSettings;
// The thread is the one that was asked for: here, such runners are plain functions.
const runners = makeRunnerTable(withoutThreads(await loadRunners(url)), undefined);
serve(parentPort, runners);

function withoutThreads(given: Awaited<ReturnType<typeof loadRunners>>): typeof given {
  if (typeof given === 'function') return given;
  return Object.fromEntries(Object.entries(given).map(([type, entry]) => [type, typeof entry === 'function' ? entry : entry.run]));
}
