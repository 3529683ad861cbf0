import type { NewlyReady, Outcome, Placement } from '../../queue-store.js';
import { JobPacker, jobsOf } from './packed-jobs.js';

/** Outcomes as they come back: the common ones as numbers, the others as objects; jobs in one transferred buffer. */
export interface PackedOutcomes {
  numbers: Float64Array<ArrayBuffer>;
  names: string[];
  others: Outcome[];
  jobLengths: number[];
  jobs: Uint8Array<ArrayBuffer>;
}

type FirePlacement = Exclude<Placement, 'blocked'>;

const placements: readonly Placement[] = ['started', 'ready', 'waiting', 'blocked'];
const other = 0;
const admitted = 1;
const begun = 2;
const finished = 3;
const fired = 4;

/** Packs the outcomes; those that go as objects lose their jobs to the buffer. */
export function packOutcomes(outcomes: readonly Outcome[]): PackedOutcomes {
  const numbers: number[] = [];
  const names = new Map<string, number>();
  const others: Outcome[] = [];
  const jobs = new JobPacker();
  for (const outcome of outcomes) {
    if (outcome.kind === 'admit' && outcome.result === 'accepted') {
      numbers.push(admitted, outcome.seq, placements.indexOf(outcome.placement));
    } else if (outcome.kind === 'start') {
      numbers.push(begun, outcome.started ? 1 : 0, jobs.add(outcome.job));
    } else if (outcome.kind === 'finish' && outcome.ready === undefined && outcome.waitingUntil === undefined && outcome.over === undefined) {
      const owed = outcome.owedTo;
      if (owed !== undefined && !names.has(owed)) names.set(owed, names.size);
      numbers.push(finished, outcome.applied ? 1 : 0, owed === undefined ? -1 : (names.get(owed) as number));
    } else if (outcome.kind === 'fire' && outcome.applied && outcome.runs.length === 1) {
      for (const { seq, placement } of outcome.runs) numbers.push(fired, seq, placements.indexOf(placement));
    } else {
      numbers.push(other);
      for (const row of rowsWithJob(outcome)) {
        jobs.add(row.job);
        row.job = undefined;
      }
      others.push(outcome);
    }
  }
  return { numbers: new Float64Array(numbers), names: [...names.keys()], others, jobLengths: jobs.lengths, jobs: jobs.finish() };
}

/** The outcomes of their packed form. */
export function unpackOutcomes(packed: PackedOutcomes): Outcome[] {
  const { numbers, names, others } = packed;
  const nextJob = jobsOf(packed.jobLengths, packed.jobs);
  const outcomes: Outcome[] = [];
  let otherAt = 0;
  for (let at = 0; at < numbers.length; ) {
    const code = numbers[at] as number;
    const [first, second] = [numbers[at + 1] as number, numbers[at + 2] as number];
    at += code === other ? 1 : 3;
    if (code === admitted) outcomes.push({ kind: 'admit', result: 'accepted', seq: first, placement: placements[second] as Placement });
    else if (code === begun) outcomes.push({ kind: 'start', started: first === 1, job: nextJob() });
    else if (code === finished) outcomes.push({ kind: 'finish', applied: first === 1, owedTo: names[second] });
    else if (code === fired) outcomes.push({ kind: 'fire', applied: true, again: false, runs: [{ seq: first, placement: placements[second] as FirePlacement }] });
    else {
      const outcome = others[otherAt++] as Outcome;
      for (const row of rowsWithJob(outcome)) row.job = nextJob();
      outcomes.push(outcome);
    }
  }
  return outcomes;
}

/** The parts of an outcome that may bring a job's bytes. */
function rowsWithJob(outcome: Outcome): { job?: Buffer | undefined }[] {
  if (outcome.kind === 'promote') return outcome.ready;
  if (outcome.kind === 'reassign') return [outcome];
  const ready: NewlyReady | undefined = outcome.kind === 'finish' || outcome.kind === 'cancel' || outcome.kind === 'release' ? outcome.ready : undefined;
  return ready === undefined ? [] : [ready];
}
