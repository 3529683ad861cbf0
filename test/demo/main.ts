import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { credentials } from '@grpc/grpc-js';
import Table from 'cli-table3';
import { JobClient, type JobResult } from '../../services/job-client/index.js';
import { contract } from '../../shared/grpc/contract.js';
import type { Instance__Output } from '../../shared/grpc/generated/lts/v1/Instance.js';
import { packageRoot } from '../../shared/package-root.js';
import { systemClock } from '../../shared/time/clock.js';
import { withDeadline } from '../../shared/time/deadline.js';
import { openBoard } from './board.js';
import { check, type Verdict } from './check.js';
import { countDirectly, type Totals } from './count.js';
import { makeJobs, resultGroup } from './jobs.js';
import { repositoryFiles } from './repository-files.js';
import { slotsPerWorker, startSuite, type Suite, workerGroup } from './suite.js';

// A real piece of work on the whole suite: every file that is checked in is counted by a job, while one job is poison,
// one asks to run later, one has its time, and one of the two workers is killed half way.

const withinMs = 50_000;
const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** Runs all jobs, kills a worker half way, and gives the results by task_id. */
async function work(suite: Suite, paths: readonly string[]): Promise<Map<string, JobResult>> {
  const client = new JobClient({ gateway: suite.gateway, nodeGroup: resultGroup });
  try {
    const jobs = makeJobs(packageRoot, paths, systemClock.now());
    const board = openBoard(jobs.length);
    const results = new Map<string, JobResult>();
    let victim = suite.workers[1];
    const allDone = new Promise<void>((resolve, reject) => {
      client.onResult((result) => {
        results.set(result.task_id, result);
        board.done(results.size);
        if (results.size === jobs.length) resolve();
        if (victim === undefined || results.size < jobs.length / 2) return;
        board.note(`${victim.name} (process ${victim.pid}) is killed`);
        victim.kill().catch(reject);
        victim = undefined;
      });
    });
    for (const submitted of await client.submitMany(jobs)) {
      if (submitted.outcome !== 'SUBMIT_OUTCOME_ACCEPTED') throw new Error(`a job was not accepted: ${submitted.outcome} ${submitted.message}`);
    }
    await withDeadline(allDone, withinMs, `the work (${jobs.length} jobs)`).finally(() => board.close());
    return results;
  } finally {
    await client.close();
  }
}

/** What the store says about every job, by task_id, through the gateway. */
function readInstances(suite: Suite): Promise<Map<string, Instance__Output>> {
  const admin = new contract.AdminService(suite.gateway, credentials.createInsecure());
  const found = new Map<string, Instance__Output>();
  return new Promise((resolve, reject) => {
    const readPage = (token: string): void => {
      admin.listInstances({ node_group: workerGroup, page_size: 1_000, page_token: token }, { deadline: systemClock.now() + 5_000 }, (error, page) => {
        if (error) return reject(error);
        for (const instance of page?.instances ?? []) found.set(instance.job?.task_id ?? '', instance);
        if (page !== undefined && page.next_page_token !== '') return readPage(page.next_page_token);
        admin.close();
        resolve(found);
      });
    };
    readPage('');
  });
}

function printReport({ byWorkers, directly }: Verdict, instances: Instance__Output[], tookMs: number): void {
  const sum = (of: (instance: Instance__Output) => number): number => instances.reduce((total, instance) => total + of(instance), 0);
  const totals = new Table({ head: ['', 'files', 'lines', 'words', 'bytes', 'sha256 of all'], style: { head: [], border: [] } });
  const row = (name: string, { files, lines, words, bytes, sha256 }: Totals): (string | number)[] => [name, files, lines, words, bytes, sha256.slice(0, 16)];
  totals.push(row('by jobs', byWorkers), row('directly', directly));
  say(totals.toString());
  const numbers = new Table({ head: ['jobs', 'attempts', 'retries', 'requeues', 'time'], style: { head: [], border: [] } });
  numbers.push([instances.length, sum((one) => one.attempt), sum((one) => one.retry_times), sum((one) => one.lost_times), `${(tookMs / 1_000).toFixed(1)} s`]);
  say(numbers.toString());
}

async function demonstrate(folder: string): Promise<boolean> {
  const paths = repositoryFiles(packageRoot);
  const startedAt = systemClock.monotonic();
  say(`Starting a JobTracker, a gateway and two workers with ${slotsPerWorker} slots each …`);
  const suite = await startSuite(folder);
  say(`  JobTracker ${suite.tracker}, gateway ${suite.gateway}, workers ${suite.workers.map((worker) => worker.pid).join(', ')} (process ids)`);
  try {
    const results = await work(suite, paths);
    const instances = await readInstances(suite);
    const direct = new Map(paths.map((path) => [path, countDirectly(join(packageRoot, path))]));
    const verdict = check({ results, instances, direct });
    printReport(verdict, [...instances.values()], systemClock.monotonic() - startedAt);
    for (const fault of verdict.faults) say(`WRONG: ${fault}`);
    const stubborn = await suite.stop();
    for (const name of stubborn) say(`WRONG: ${name} did not leave when it was asked to`);
    const isGood = verdict.faults.length === 0 && stubborn.length === 0;
    if (isGood) say(`The totals of ${paths.length} file jobs equal those computed directly; poison failed, later and timed ran as they should.`);
    return isGood;
  } finally {
    await suite.stop();
  }
}

const folder = mkdtempSync(join(tmpdir(), 'lts-demo-'));
const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
process.once('exit', removeFolder);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
try {
  process.exitCode = (await demonstrate(folder)) ? 0 : 1;
} catch (error) {
  say(`WRONG: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
