import type { TrackerClients } from '../../services/job-client/discover/tracker-clients.js';
import { cancelAtOwner } from '../../services/job-client/outbox/send-cancel.js';
import { fromBytes, type PendingJob } from '../../services/job-client/submit/pending-job.js';
import { sendBatch } from '../../services/job-client/submit/send-batch.js';
import type { SubmitResult } from '../../shared/grpc/generated/lts/v1/SubmitResult.js';
import { idMaker } from '../../shared/ids.js';
import { ClientSchedules } from './client-schedules.js';
import { makeJob, type SimJob } from './jobs.js';
import { methods } from './network/methods.js';
import { NodeClock, type WallClock } from './node-clock.js';
import type { Random } from './random.js';
import { Process } from './scheduler.js';
import type { SimSchedule } from './schedules.js';
import { GroupMember } from './sim-receiver.js';
import { SimRouter } from './sim-router.js';
import type { World } from './world.js';

const callMs = 5_000;
/** Refusals that a client may get. */
const refusals = new Set(['BACKLOG_FULL', 'TOO_MANY_CALLS', 'DISK_LOW']);

/** A JobClient: submits, submits again what nobody answered, cancels, takes results. */
export class SimClient {
  readonly process: Process;
  readonly #world: World;
  readonly #clock: NodeClock;
  readonly #random: Random;
  readonly #parts: { router: SimRouter; clients: TrackerClients; clock: NodeClock };
  readonly #group: string;
  readonly #newId: (now?: number) => string;
  readonly #sent: SimJob[] = [];
  readonly schedules: ClientSchedules;
  #sending = 0;

  constructor(world: World, name: string, group: string, wall: WallClock) {
    this.#world = world;
    this.#random = world.random.fork();
    this.#group = group;
    this.process = new Process(name, name);
    this.#clock = new NodeClock(world.scheduler, this.process, wall);
    this.#newId = idMaker(this.#random.fork().fill);
    const router = new SimRouter(world.hub, world.scheduler, this.process, world.addresses);
    this.#parts = { router, clients: this.#clients(), clock: this.#clock };
    this.schedules = new ClientSchedules(world, this.#random, this.#parts, group, () => this.#newId(this.#clock.now()), (schedule) => this.#send([schedule], false));
    new GroupMember(world, group, { ...this.#parts, process: this.process });
    this.#loadLater();
  }

  /** Calls that wait for their answers, or to be tried again. */
  get open(): number {
    return this.#sending + this.schedules.open;
  }

  /** Submits one job for each group now. */
  probe(): void {
    for (const group of this.#world.groups) this.#submit([this.#make(group)]);
  }

  #loadLater(): void {
    const { scheduler, settings } = this.#world;
    scheduler.after(this.#random.between(0, 2 * settings.loadEveryMs), 'load', () => {
      if (scheduler.now < settings.loadUntilMs) {
        this.#act();
        this.#loadLater();
      }
    }, this.process);
  }

  #act(): void {
    const { groups, settings } = this.#world;
    if (this.#random.chance(settings.scheduleShare)) return this.schedules.act();
    if (this.#random.chance(0.1) && this.#sent.length > 0) return this.#cancel(this.#random.pick(this.#sent.slice(-20)));
    // An answer that was lost, so that the whole batch is sent once more although it has come.
    if (this.#random.chance(0.08) && this.#sent.length > 0) return this.#send(this.#sent.slice(-this.#random.int(1, 4)), false);
    const burst = this.#random.chance(0.05) ? this.#random.int(10, settings.burst) : this.#random.int(1, 3);
    this.#submit(Array.from({ length: burst }, () => this.#make(this.#random.pick(groups))));
  }

  #make(nodeGroup: string): SimJob {
    const job = makeJob(this.#random, this.#newId(this.#clock.now()), nodeGroup, this.#group, this.#clock.now(), 6);
    this.#world.jobs.set(job.id, job);
    this.#sent.push(job);
    return job;
  }

  #submit(jobs: readonly SimJob[]): void {
    this.#send(jobs, false);
  }

  #send(jobs: readonly (SimJob | SimSchedule)[], late: boolean): void {
    this.#sending++;
    const sink = { settle: (index: number, result: SubmitResult) => this.#settle(jobs[index] as SimJob | SimSchedule, result) };
    const pending = jobs.map((job, index) => fromBytes(job.bytes, sink, index, late));
    sendBatch(this.#parts, pending, callMs).then(
      ({ jobs: unsent }) => {
        this.#sending--;
        if (unsent.length > 0) this.#sendLater(unsent);
      },
      (error: unknown) => this.#world.history.violate(0, `${this.process.name} could not send: ${String(error)}`),
    );
  }

  /** As the outbox does: the same ids, until they are answered. */
  #sendLater(unsent: readonly PendingJob[]): void {
    this.#sending++;
    const jobs = unsent.flatMap(({ instanceId }) => this.#world.jobs.get(instanceId) ?? this.#world.schedules.get(instanceId) ?? []);
    this.#world.scheduler.after(this.#random.between(200, 3_000), 'send again', () => {
      this.#sending--;
      this.#send(jobs, true);
    }, this.process);
  }

  #settle(job: SimJob | SimSchedule, { outcome, reason = '', message = '' }: SubmitResult): void {
    this.#world.trace(`answer ${job.id} ${String(outcome)} ${reason}`);
    if (outcome === 'SUBMIT_OUTCOME_REJECTED') {
      if (!refusals.has(reason)) this.#world.history.violate(1, `${job.id} was refused: ${reason} ${message}`);
      return;
    }
    this.#world.history.answered(job.id, String(outcome), 'times' in job ? undefined : job);
  }

  #cancel(job: SimJob): void {
    const byTask = this.#random.chance(0.2);
    const target = byTask ? { task_id: job.taskId } : { instance_id: job.id };
    this.#sending++;
    cancelAtOwner(this.#parts, { node_group: job.nodeGroup, ...target }, callMs).then(
      ({ outcome, instance_ids }) => {
        this.#sending--;
        this.#world.trace(`cancelled ${instance_ids.join()} ${outcome}`);
        this.#world.history.cancelAcked(instance_ids, this.#world.scheduler.now);
      },
      () => void this.#sending--,
    );
  }

  /** What the library uses of its gRPC clients. */
  #clients(): TrackerClients {
    const { network } = this.#world;
    const { process } = this;
    type Answer = (error: unknown, response?: unknown) => void;
    const at = (address: string): object => ({
      job: {
        submitJobs: (request: unknown, { deadline }: { deadline: number }, answer: Answer) => network.unary(process, address, methods.submitJobs, request, deadline - this.#clock.now(), answer),
        cancelJob: (request: unknown, { deadline }: { deadline: number }, answer: Answer) => network.unary(process, address, methods.cancelJob, request, deadline - this.#clock.now(), answer),
      },
      schedule: Object.fromEntries(
        (['suspendSchedule', 'resumeSchedule', 'deleteSchedule', 'triggerSchedule'] as const).map((name) => [
          name, (request: unknown, { deadline }: { deadline: number }, answer: Answer) => network.unary(process, address, methods[name], request, deadline - this.#clock.now(), answer),
        ]),
      ),
      feedback: { watchFeedback: () => network.call(process, address, methods.watchFeedback) },
    });
    return { at, closeAll: () => undefined } as unknown as TrackerClients;
  }
}
