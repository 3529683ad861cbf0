import type { RawWorkResponse } from '../../services/job-tracker/dispatch/worker-session.js';
import { feedbackService } from '../../services/job-tracker/rpc/feedback-service.js';
import { jobService } from '../../services/job-tracker/rpc/job-service.js';
import { scheduleService } from '../../services/job-tracker/rpc/schedule-service.js';
import { workerService } from '../../services/job-tracker/rpc/worker-service.js';
import { TrackerCore } from '../../services/job-tracker/tracker-core.js';
import { createHandlers } from '../../shared/grpc/handlers.js';
import { idMaker } from '../../shared/ids.js';
import type { ServerEnd } from './network/ends.js';
import { methods } from './network/methods.js';
import type { Serve } from './network/network.js';
import { NodeClock, type WallClock } from './node-clock.js';
import { Process } from './scheduler.js';
import { sessionMs, SimRegistry } from './sim-registry.js';
import { FaultyLane } from './store/faulty-lane.js';
import { MemoryStore } from './store/memory-store.js';
import type { World } from './world.js';

/** One process start of a JobTracker: the whole core and its adapters, on the ports of the simulation. */
export class SimTracker {
  readonly process: Process;
  readonly core: TrackerCore;
  readonly registry: SimRegistry;
  readonly lane: FaultyLane;
  leaving = false;
  readonly #world: World;

  constructor(world: World, nodeId: string, address: string, wall: WallClock) {
    const { scheduler, settings, random } = world;
    this.#world = world;
    const incarnation = world.newId();
    this.process = new Process(`${nodeId}#${world.nextNumber()}`, nodeId);
    const clock = new NodeClock(scheduler, this.process, wall);
    const log = world.logger(this.process);
    this.registry = new SimRegistry(world.hub, scheduler, this.process);
    this.lane = new FaultyLane(scheduler, this.process, settings.storeDeadlineMs, (statement) => world.asCommitter(this.process.name, statement));
    const store = new MemoryStore(world.db, world.db, this.lane, () => (settings.storeHasClock ? world.storeWall.now() - clock.now() : 0));
    const newId = idMaker(random.fork().fill);
    this.core = new TrackerCore({
      config: {
        cluster: 'sim', partitions: world.db.partitions, grace: settings.graceMs, pingInterval: 2_000, backlogLimit: settings.backlogLimit, readyInMemory: 64,
        retention: 7 * 86_400_000, diskReserve: 0, sessionTimeout: sessionMs,
      },
      store, registry: this.registry, alone: false,
      spread: world.db.partitions > 1, incarnation, clock, newId, log, onFailed: (error) => world.history.violate(0, `${this.process.name} failed: ${error.message}`),
    });
    world.network.listen(address, { process: this.process, methods: this.#serve(clock, log) });
    this.core.start({ kind: 'job-tracker', nodeId, incarnation, nodeGroup: '', address, version: 'sim', startedAt: clock.now() });
  }

  /** Ends at once. */
  crash(silently: boolean): void {
    this.lane.breakDown('the owner has died');
    this.#end(silently);
    this.registry.abandon();
  }

  /** A planned leave. */
  async leave(): Promise<void> {
    this.leaving = true;
    await this.core.handOver();
    this.core.stopTaking();
    await Promise.race([this.core.flushed(), new Promise<void>((resolve) => this.#world.scheduler.after(1_000, 'flush deadline', resolve, this.process))]);
    await this.core.leave();
    await this.registry.close();
    this.#end(false);
  }

  #end(silently: boolean): void {
    this.#world.scheduler.kill(this.process);
    this.#world.network.killed(this.process, silently);
  }

  /** The history knows when each task was written. */
  #watchTasks(call: ServerEnd, serve: (call: ServerEnd) => void): void {
    call.onWrite = (frame) => {
      const { tasks } = (frame as RawWorkResponse).tasks ?? { tasks: [] };
      for (const { instance_id: id = '', attempt = 0, fencing_token, epoch } of tasks) {
        this.#world.history.taskSent({ id, attempt, fence: Number(fencing_token) }, Number(epoch), this.#world.scheduler.now);
      }
    };
    serve(call);
  }

  #serve(clock: NodeClock, log: ReturnType<World['logger']>): Map<string, Serve> {
    const { core } = this;
    const handlers = createHandlers(log);
    const common = { ownership: core.ownership, clock, log };
    const work = workerService(handlers, { ...common, directory: core.directory, results: core.results, logs: core.logs, groups: core.groups });
    const feedback = feedbackService(handlers, { ...common, delivery: core.delivery, masters: core.clientMasters });
    const jobs = jobService(handlers, core.admission, core.cancellation);
    const schedules = scheduleService(handlers, { ...common, schedules: core.schedules, store: core.status.store });
    return new Map<string, Serve>([
      [methods.work.path, { duplex: ((call: ServerEnd) => this.#watchTasks(call, work['Work'] as never)) as never }],
      [methods.watchFeedback.path, { duplex: feedback['WatchFeedback'] as never }],
      [methods.submitJobs.path, { unary: jobs['SubmitJobs'] as never }],
      [methods.cancelJob.path, { unary: jobs['CancelJob'] as never }],
      ...(['SuspendSchedule', 'ResumeSchedule', 'DeleteSchedule', 'TriggerSchedule'] as const).map((name): [string, Serve] => [
        methods[`${name.charAt(0).toLowerCase()}${name.slice(1)}` as 'suspendSchedule'].path, { unary: schedules[name] as never },
      ]),
    ]);
  }
}
