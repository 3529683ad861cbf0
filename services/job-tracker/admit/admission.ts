import { LtsError, toLtsError } from '../../../shared/errors/lts-error.js';
import type { Job__Output } from '../../../shared/grpc/generated/lts/v1/Job.js';
import type { SubmitResult } from '../../../shared/grpc/generated/lts/v1/SubmitResult.js';
import { isSchedule } from '../../../shared/job/check-schedule.js';
import { readJob } from '../../../shared/job/read-job.js';
import type { Clock } from '../../../shared/time/clock.js';
import type { Dispatcher } from '../dispatch/dispatcher.js';
import type { Worker } from '../dispatch/worker.js';
import type { WorkerSession } from '../dispatch/worker-session.js';
import type { Ownership } from '../lead/ownership.js';
import type { Backlog } from '../queue/backlog.js';
import type { CommitPipeline } from '../queue/commit-pipeline.js';
import type { GroupQueue, OwnedGroups } from '../queue/owned-groups.js';
import type { Admit, AdmitOutcome, Placement } from '../queue/queue-store.js';
import type { StatusQueries } from '../queue/status-queries.js';
import type { DueTimer } from '../schedule/due-timer.js';
import { refusal, toResult } from './answers.js';
import { checkIdTime } from './check-id.js';
import type { DiskGuard } from './disk-guard.js';
import type { Enrollment } from './enrollment.js';
import { policyOf } from './run-policy.js';

/** What admission needs to know. */
export interface AdmissionSettings {
  retentionMs: number;
}

/** Transitions that may wait for a commit before callers are told to come back. */
const deepestPipeline = 50_000;
const mostPipelineBytes = 64 * 1024 * 1024;
const batchJobs = 1_000;

/** Step 1: check, dedupe, one durable commit, then the answer. */
export class Admission {
  readonly #groups: OwnedGroups;
  readonly #pipeline: CommitPipeline;
  readonly #dispatcher: Dispatcher;
  readonly #dueTimer: DueTimer;
  readonly #ownership: Ownership;
  readonly #disk: DiskGuard;
  readonly #enrollment: Enrollment;
  readonly #backlog: Backlog;
  readonly #queries: Pick<StatusQueries, 'findInstance'>;
  readonly #settings: AdmissionSettings;
  readonly #clock: Clock;
  readonly #newId: (now: number) => string;

  constructor(parts: {
    groups: OwnedGroups;
    pipeline: CommitPipeline;
    dispatcher: Dispatcher;
    dueTimer: DueTimer;
    ownership: Ownership;
    disk: DiskGuard;
    enrollment: Enrollment;
    backlog: Backlog;
    queries: Pick<StatusQueries, 'findInstance'>;
    settings: AdmissionSettings;
    clock: Clock;
    newId: (now: number) => string;
  }) {
    this.#groups = parts.groups;
    this.#pipeline = parts.pipeline;
    this.#dispatcher = parts.dispatcher;
    this.#dueTimer = parts.dueTimer;
    this.#ownership = parts.ownership;
    this.#disk = parts.disk;
    this.#enrollment = parts.enrollment;
    this.#backlog = parts.backlog;
    this.#queries = parts.queries;
    this.#settings = parts.settings;
    this.#clock = parts.clock;
    this.#newId = parts.newId;
  }

  /** One result per job, in their order. Throws only what concerns the whole batch. */
  submit(jobs: readonly Buffer[], fromFailStore: boolean): Promise<SubmitResult[]> {
    if (jobs.length === 0 || jobs.length > batchJobs) throw new LtsError('INVALID_ARGUMENT', `jobs has ${jobs.length} entries; send 1 to ${batchJobs}`);
    // Without partitions each job is answered with its own owner.
    if (this.#ownership.serving) this.#requireRoom(jobs);
    return new Promise((resolve) => {
      const results: SubmitResult[] = Array.from({ length: jobs.length });
      let left = jobs.length;
      const settle = (index: number, result: SubmitResult): void => {
        results[index] = result;
        if (--left === 0) resolve(results);
      };
      jobs.forEach((bytes, index) => this.#admit(bytes, fromFailStore, (result) => settle(index, result)));
    });
  }

  /**
   * Whoever fills the pipeline is told to come back; the others go on, until it is twice as full. A batch is judged by
   * the group of its first job: to look at all of them would cost what is to be spared.
   */
  #requireRoom([first]: readonly Buffer[]): void {
    this.#disk.requireRoom();
    const { depth, bytes } = this.#pipeline;
    const fullness = Math.max(depth / deepestPipeline, bytes / mostPipelineBytes);
    if (fullness <= 1 || (fullness <= 2 && !this.#pipeline.isCrowdedBy(groupOf(first)))) return;
    throw new LtsError('TOO_MANY_CALLS', `${depth} changes with ${bytes} bytes wait for the store; back off and send the same ids again`);
  }

  #admit(bytes: Buffer, fromFailStore: boolean, settle: (result: SubmitResult) => void): void {
    let id = '';
    try {
      const now = this.#clock.now();
      const job = readJob(bytes);
      id = job.instance_id;
      if (id !== '') checkIdTime(id, now, this.#settings.retentionMs);
      const partition = this.#ownership.require(job.node_group);
      if (id === '') id = this.#newId(now);
      const admit = toAdmit(job, id, bytes, partition, now, fromFailStore);
      // A schedule is no work that waits; its runs are, and firing looks at the backlog for them.
      if (isSchedule(job)) return this.#enrollment.enroll(job, admit, settle);
      const group = this.#groups.group(job.node_group, partition);
      if (this.#backlog.room(group) > 0) this.#store(group, admit, settle);
      else void this.#admitKnown(group, admit, settle);
    } catch (error) {
      settle(refusal(id, toLtsError(error)));
    }
  }

  /** The backlog is full: only an id that was taken before gets its answer. */
  async #admitKnown(group: GroupQueue, admit: Admit, settle: (result: SubmitResult) => void): Promise<void> {
    try {
      const known = admit.clientId && (await this.#queries.findInstance({ id: admit.id })) !== undefined;
      if (known) return this.#store(group, admit, settle);
      throw this.#backlog.refusal(group);
    } catch (error) {
      settle(refusal(admit.id, toLtsError(error)));
    }
  }

  #store(group: GroupQueue, admit: Admit, settle: (result: SubmitResult) => void): void {
    const partition = this.#groups.partitions.get(group.partition);
    let worker: Worker | undefined;
    let session: WorkerSession | undefined;
    if (partition !== undefined && admit.dueAt <= admit.createdAt) {
      worker = this.#dispatcher.reserve(group, admit.type, admit.job.length);
      session = worker?.session;
      if (worker !== undefined) admit.start = { worker: worker.identity, fence: this.#groups.nextFence(partition) };
    }
    if (worker === undefined) group.admitting++;
    this.#pipeline.add(admit, (outcome, error) => {
      session?.unreserve(admit.job.length);
      const admitted = outcome as AdmitOutcome;
      const started = error === undefined && 'placement' in admitted && admitted.placement === 'started';
      if (worker === undefined) group.admitting--;
      else group.gate.end(started);
      if (error !== undefined) return settle(refusal(admit.id, error));
      if (admitted.result === 'replaced') this.#leave(group, admitted.existingSeq, admitted.existingPlacement);
      if (started && worker !== undefined) this.#dispatcher.handOut(admit, admitted.seq, worker, session);
      else this.#place(group, admit, admitted);
      if (worker !== undefined && !started) this.#dispatcher.dispatch(group);
      settle(toResult(admit.id, admitted));
    });
  }

  /** Memory follows the store. */
  #place(group: GroupQueue, admit: Admit, outcome: AdmitOutcome): void {
    if (!('placement' in outcome)) return;
    if (outcome.placement !== 'ready') {
      group.waiting++;
      if (outcome.placement === 'waiting') this.#dueTimer.dueAt(admit.partition, admit.dueAt);
      return;
    }
    group.readyCount++;
    const { id, type, priority, dueAt, policy, job } = admit;
    this.#dispatcher.place(group, { seq: outcome.seq, id, type, priority, dueAt, scheduledAt: dueAt, policy, attempts: 0, retryTimes: 0, lostTimes: 0, job: job.length <= 4_096 ? Buffer.from(job) : undefined });
    this.#dispatcher.dispatch(group);
  }

  #leave(group: GroupQueue, seq: number, placement: Placement): void {
    if (placement === 'ready') {
      group.readyCount--;
      group.ready.remove(seq);
    } else group.waiting--;
  }
}

function groupOf(bytes: Buffer | undefined): string {
  try {
    return bytes === undefined ? '' : readJob(bytes).node_group;
  } catch {
    // It is refused for what it is.
    return '';
  }
}

function toAdmit(job: Job__Output, id: string, bytes: Buffer, partition: number, now: number, fromFailStore: boolean): Admit {
  return {
    kind: 'admit',
    id,
    clientId: job.instance_id !== '',
    partition,
    nodeGroup: job.node_group,
    taskId: job.task_id,
    type: job.type === '' ? 'default' : job.type,
    priority: job.priority ?? 100,
    dueAt: Math.max(job.trigger_time, now),
    createdAt: now,
    needFeedback: job.need_feedback,
    submitNodeGroup: job.submit_node_group,
    replaceOnExist: job.replace_on_exist,
    fromFailStore,
    policy: policyOf(job),
    job: bytes,
  };
}
