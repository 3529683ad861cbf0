import { LtsError, toLtsError } from '../../shared/errors/lts-error.js';
import type { GetClusterResponse } from '../../shared/grpc/generated/lts/v1/GetClusterResponse.js';
import type { Logger } from '../../shared/log/logger.js';
import { isGood, type Member, type Registry } from '../../shared/registry/registry.js';
import type { Clock, Timer } from '../../shared/time/clock.js';
import { every } from '../../shared/time/every.js';
import { withDeadline } from '../../shared/time/deadline.js';
import { Admission } from './admit/admission.js';
import { Cancellation } from './admit/cancellation.js';
import { DiskGuard } from './admit/disk-guard.js';
import { Enrollment } from './admit/enrollment.js';
import { AttemptSettlement } from './complete/settle-attempt.js';
import { LogIntake } from './complete/take-logs.js';
import { ResultIntake } from './complete/take-results.js';
import type { JobTrackerConfig } from './config.js';
import { Dispatcher } from './dispatch/dispatcher.js';
import { Heartbeat } from './dispatch/heartbeat.js';
import { LimitSetting } from './dispatch/limit-setting.js';
import { WorkerDirectory } from './dispatch/worker-directory.js';
import { ClientMasters } from './feedback/client-masters.js';
import { FeedbackDelivery } from './feedback/feedback-delivery.js';
import { ClusterView } from './lead/cluster-view.js';
import { GroupMasters } from './lead/group-masters.js';
import { DrainedNodes } from './lead/drained-nodes.js';
import { NodeDrain } from './lead/node-drain.js';
import { Lead } from './lead/lead.js';
import { agreeOnStore } from './lead/store-identity.js';
import { Ownership } from './lead/ownership.js';
import { Repeats } from './lead/repeats.js';
import { Backlog } from './queue/backlog.js';
import { CommitPipeline } from './queue/commit-pipeline.js';
import { OwnedGroups } from './queue/owned-groups.js';
import type { LoadedSchedules, QueueStore } from './queue/queue-store.js';
import { LostAttempts } from './recover/lost-attempts.js';
import { Repairs } from './recover/repairs.js';
import { Retention } from './recover/retention.js';
import { SelfRepair } from './recover/self-repair.js';
import type { AdminParts } from './rpc/admin-service.js';
import { clusterStatus } from './rpc/cluster-status.js';
import { trackerFacts } from './rpc/tracker-facts.js';
import { DueTimer } from './schedule/due-timer.js';
import { GuardedRuns } from './schedule/guarded-runs.js';
import { ScheduleControl } from './schedule/schedule-control.js';
import { Schedules } from './schedule/schedules.js';
import { StoreClock } from './schedule/store-clock.js';

/** Ports and settings of a tracker. */
export interface TrackerParts {
  config: Pick<JobTrackerConfig, 'cluster' | 'grace' | 'pingInterval' | 'backlogLimit' | 'readyInMemory' | 'retention' | 'diskReserve' | 'sessionTimeout'> & { partitions: number };
  store: QueueStore;
  registry: Registry;
  /** Whether several trackers share the partitions: not on a store with one writer. */
  spread: boolean;
  /** Nothing tells of other trackers, so there must be none. */
  alone: boolean;
  incarnation: string;
  clock: Clock;
  /** Makes a UUIDv7 of this time. */
  newId: (now: number) => string;
  log: Logger;
  /** The store has failed for good: this process can do nothing any more. */
  onFailed(error: LtsError): void;
}

const tickMs = 1_000;
const retentionRoundMs = 60_000;
const askAgainMs = 2_000;
/** In a planned leave: how long the next owners are waited for. */
const handOverWithinMs = 3_000;

/** The whole tracker apart from its server: it runs on ports alone, so that a simulation can run it as well. */
export class TrackerCore {
  /** Everything that is due or dated is so by this one. */
  readonly clock: StoreClock;
  readonly groups: OwnedGroups;
  readonly directory: WorkerDirectory;
  readonly delivery: FeedbackDelivery;
  readonly clientMasters: ClientMasters;
  readonly ownership: Ownership;
  readonly admission: Admission;
  readonly cancellation: Cancellation;
  /** What people do with schedules. */
  readonly schedules: ScheduleControl;
  /** Live runs of schedules that limit them. */
  readonly guarded: GuardedRuns;
  readonly results: ResultIntake;
  readonly logs: LogIntake;
  readonly limits: LimitSetting;
  readonly view = new ClusterView();
  readonly drained: DrainedNodes;
  readonly drain: NodeDrain;
  readonly #parts: TrackerParts;
  readonly #pipeline: CommitPipeline;
  readonly #dispatcher: Dispatcher;
  readonly #dueTimer: DueTimer;
  readonly #scheduler: Schedules;
  readonly #disk: DiskGuard;
  readonly #lost: LostAttempts;
  readonly #retention: Retention;
  readonly #repair: SelfRepair;
  readonly #timers: Timer[] = [];
  readonly #servingListeners: ((serving: boolean) => void)[] = [];
  #member: Member | undefined;
  #lead: Lead | undefined;
  /** Called when the last partition is gone. */
  #emptied: () => void = () => undefined;
  #stopped = false;
  #checking = false;

  constructor(parts: TrackerParts) {
    const { config, store, newId, log, incarnation } = parts;
    this.#parts = parts;
    this.clock = new StoreClock(parts.clock, (byMs) => this.#clockJumped(byMs));
    const { clock } = this;
    this.groups = new OwnedGroups(config.readyInMemory);
    const repairs = new Repairs(clock, log);
    this.drained = new DrainedNodes(parts.registry, clock, log);
    const workers = (): string[] => Array.from(this.directory.all(), (worker) => worker.identity.nodeId);
    this.drain = new NodeDrain(this.drained, { trackers: () => this.view.assignment?.trackers ?? [], workers });
    this.ownership = new Ownership({
      store,
      groups: this.groups,
      identity: { incarnation, pid: process.pid },
      ownerOf: (partition) => this.#otherOwnerOf(partition),
      isLive: (each) => this.#lead?.isLive(each) ?? false,
      hearsRegistry: () => isGood(parts.registry.state),
      flushed: () => this.#pipeline.barrier(),
      events: this.#ownershipEvents(),
      displaceAfterMs: config.sessionTimeout,
      clock,
      log,
    });
    const refusals = new Repeats(clock);
    this.#pipeline = new CommitPipeline(store, {
      epochOf: (partition) => this.ownership.epochOf(partition),
      notOwning: (partition) => this.ownership.notOwning(partition),
      onUnknown: (partitions, error) => this.ownership.reload(partitions, error),
      onFenced: (partitions) => this.ownership.fenced(partitions),
      onRolledBack: (error) => refusals.isNews(error.message) && log.warn('store.failed', { operation: 'commit', reason: error.reason, why: error.message }),
      onCommitted: () => this.directory.flush(),
    }, clock);
    this.directory = new WorkerDirectory(
      this.groups,
      {
        slotsChanged: (name) => this.#dispatch(name),
        lost: (execution) => this.#lost.lost(execution),
        unstarted: (execution) => this.#lost.unstarted(execution),
        mended: repairs.note,
      },
      {
        trackerId: () => this.#member?.nodeId ?? '',
        storeId: () => this.ownership.storeId,
        isDrained: (nodeId) => this.drained.has(nodeId),
        graceMs: config.grace,
        pingIntervalMs: config.pingInterval,
      },
      clock,
      log,
    );
    this.delivery = new FeedbackDelivery(store, this.groups, clock, log);
    this.clientMasters = new ClientMasters(this.groups, this.delivery, config.grace, clock);
    this.#disk = new DiskGuard(config.diskReserve, log);
    this.#dispatcher = new Dispatcher(this.groups, this.directory, this.#pipeline, store, clock);
    const guarded = (this.guarded = new GuardedRuns((task) => this.#scheduler.freed(task)));
    this.#dueTimer = new DueTimer(this.groups, this.#pipeline, this.#dispatcher, guarded, clock);
    const shared = { groups: this.groups, pipeline: this.#pipeline, dispatcher: this.#dispatcher, dueTimer: this.#dueTimer, backlog: new Backlog(config.backlogLimit), clock };
    const settlement = new AttemptSettlement({ ...shared, workers: this.directory, feedback: this.delivery, runs: guarded });
    this.#scheduler = new Schedules({ ...shared, settlement, guarded, store, newId, log });
    this.admission = new Admission({ ...shared, newId, ownership: this.ownership, disk: this.#disk, enrollment: new Enrollment(this.#pipeline, this.#scheduler), queries: store, settings: { retentionMs: config.retention } });
    this.limits = new LimitSetting(this.ownership, this.groups, this.#pipeline, this.#dispatcher);
    this.cancellation = new Cancellation(this.ownership, this.#pipeline, settlement, this.#scheduler, clock);
    this.schedules = new ScheduleControl({ ...shared, ownership: this.ownership, settlement, schedules: this.#scheduler, guarded, store, disk: this.#disk, retentionMs: config.retention, newId });
    this.#lost = new LostAttempts(this.groups, settlement, this.directory, clock, log);
    this.results = new ResultIntake(this.groups, this.#pipeline, settlement, this.directory, this.#lost, log);
    this.logs = new LogIntake(store, (session) => this.directory.touched(session), log);
    this.#retention = new Retention(store, config.retention, clock, log);
    this.#repair = new SelfRepair({ ...shared, scheduler: this.#scheduler, guarded, directory: this.directory, delivery: this.delivery, store, registry: parts.registry, log }, repairs);
  }

  /** Stands in the election as this member. */
  start(member: Member): void {
    const { registry, config, spread, clock, log } = this.#parts;
    this.#member = member;
    this.ownership.standAs(member.nodeId);
    const settings = { member, partitions: config.partitions, spread };
    this.#lead = new Lead(registry, { assigned: (partitions) => this.ownership.assign(partitions) }, settings, this.view, this.drained, clock, log);
    const lead = this.#lead;
    this.drained.follow(() => {
      this.directory.drainedChanged();
      lead.reassign();
    });
    registry.onState(() => this.#judgeMap());
    const agreed = agreeOnStore(registry, () => this.ownership.identify(), clock, log);
    // Nothing is owned before the store's clock is known: what is due would be guessed.
    agreed.then(() => this.clock.known(this.#parts.store, () => this.#stopped)).then(
      () => this.#stopped || lead.start(),
      (error: unknown) => this.#parts.onFailed(toLtsError(error)),
    );
    const heartbeat = new Heartbeat(this.directory, config.pingInterval, clock);
    const often = (periodMs: number, action: () => void): unknown => this.#timers.push(every(clock, periodMs, action));
    often(config.pingInterval, () => heartbeat.beat());
    often(tickMs, () => this.#tick());
    often(Math.min(config.pingInterval, GroupMasters.leaseMs(config.grace) / 4), () => void this.ownership.checkEpochs().then(() => [this.directory.masters, this.clientMasters].forEach((masters) => masters.renew())));
    often(retentionRoundMs, () => void (this.groups.hasChores && this.#retention.round()));
  }

  /** Calls at each change of whether this node may accept work. */
  onServing(listener: (serving: boolean) => void): void {
    this.#servingListeners.push(listener);
    listener(this.ownership.serving);
  }

  /** Planned leave, at first: others are assigned what is owned here, and take it over one by one while it is served. */
  async handOver(): Promise<void> {
    const { registry, clock, log } = this.#parts;
    if (this.groups.partitions.size === 0 || !isGood(registry.state)) return;
    try {
      const empty = new Promise<void>((resolve) => (this.#emptied = resolve));
      if (await this.#lead?.announceLeave()) await withDeadline(empty, handOverWithinMs, 'handing over', clock);
    } catch (error) {
      log.warn('registry.failed', { operation: 'leave', error });
    }
  }

  /** Planned leave, then: nothing is admitted or dispatched any more. */
  stopTaking(): void {
    this.ownership.drain();
    this.#dispatcher.stop();
    for (const { session } of this.directory.all()) session?.drain('');
  }

  /** What was on its way is in the store. */
  flushed(): Promise<void> {
    return this.#pipeline.idle();
  }

  /** Planned leave, last part: the partitions are free for others. */
  async leave(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) timer.cancel();
    await this.ownership.release();
    this.delivery.dropAll(this.ownership.notOwner(''));
    await this.#lead?.leave();
  }

  /** Map, ownership, store and registry as they are now. */
  clusterStatus(): Promise<GetClusterResponse> {
    const { store, registry, config } = this.#parts;
    const { view, groups, ownership, drained, drain } = this;
    const { repairs } = this.#repair;
    return clusterStatus({ cluster: config.cluster, nodeId: this.#member?.nodeId ?? '', view, groups, ownership, commitTrouble: this.#pipeline.trouble, drained, drain, registry: registry.state, store, repairs });
  }

  /** What status is drawn from. */
  get status(): Omit<AdminParts, 'ownership' | 'searches' | 'clock'> {
    return {
      store: this.#parts.store,
      groups: this.groups,
      directory: this.directory,
      delivery: this.delivery,
      clientMasters: this.clientMasters,
      limits: this.limits,
      drain: this.drain,
      missing: () => this.view.ownersBeside(this.#member?.nodeId ?? ''),
      unclaimed: this.#repair.unclaimed,
      going: (nodeGroup, taskId) => this.#scheduler.going(nodeGroup, taskId),
      clusterStatus: () => this.clusterStatus(),
      trackers: () => trackerFacts(this.view, this.drained, this.#member, this.clock),
    };
  }

  /** host:port of the owner by the map. The map may still name this tracker, which has lost or released the partition. */
  #otherOwnerOf(partition: number): string {
    const owner = this.view.ownerOf(partition);
    return owner === this.#member?.address ? '' : owner;
  }

  #ownershipEvents(): { adopted(partition: number, schedules: LoadedSchedules): void; dropped(partitions: readonly number[]): void; fenced(): void } {
    return {
      adopted: (partition, schedules) => {
        this.directory.adopted(partition);
        this.delivery.adopted();
        this.clientMasters.adopted(partition);
        this.#dueTimer.arm();
        this.#scheduler.adopted(partition, schedules);
        for (const group of this.groups.groups.values()) if (group.partition === partition) this.#dispatcher.dispatch(group);
        this.#told();
      },
      dropped: (partitions) => {
        this.#scheduler.dropped(partitions);
        this.directory.dropped((group) => this.groups.partitions.has(this.groups.partitionOf(group)), (group) => this.ownership.notOwner(group));
        if (this.groups.partitions.size === 0) {
          this.delivery.dropAll(this.ownership.notOwner(''));
          this.#emptied();
        } else this.delivery.dropped();
        this.clientMasters.dropped();
        this.#told();
      },
      fenced: () => {
        this.#parts.clock.after(askAgainMs, () => void this.#askAgain(), { unref: true });
      },
    };
  }

  /** Of two trackers that know nothing of each other the newer one stays: taking the partitions back and forth would be worse. */
  async #askAgain(): Promise<void> {
    const { alone, store, incarnation } = this.#parts;
    const taker = alone ? (await store.owners().catch(() => [])).find((holder) => holder.incarnation !== '' && holder.incarnation !== incarnation) : undefined;
    if (taker === undefined) this.ownership.assign(this.#lead?.assigned() ?? []);
    else this.#parts.onFailed(new LtsError('STORE_LOCKED', `tracker ${taker.nodeId} has taken the partitions over; without a ZooKeeper only one tracker can work on a store: end one of them, or give both --zookeeper`));
  }

  #dispatch(name: string): void {
    const group = this.groups.groups.get(name);
    if (group !== undefined) this.#dispatcher.dispatch(group);
  }

  #tick(): void {
    if (!this.#checking) void this.#checkStore();
    this.#lost.sweep();
    this.delivery.sweep();
    this.#repair.tick();
    this.#dueTimer.arm();
    this.#scheduler.timer.arm();
  }

  #clockJumped(byMs: number): void {
    this.#parts.log.warn('clock.jumped', { byMs });
    this.#dueTimer.arm();
    this.#scheduler.timer.arm();
  }

  async #checkStore(): Promise<void> {
    this.#checking = true;
    await this.ownership.checkEpochs();
    const health = await this.clock.measure(this.#parts.store);
    this.#disk.note(health);
    if (health.state === 'FAILED' && !this.#stopped) this.#parts.onFailed(new LtsError('STORE_FAILED', health.message));
    this.#checking = false;
  }

  #judgeMap(): void {
    this.view.judge(isGood(this.#parts.registry.state), this.groups.partitions.size > 0);
  }

  #told(): void {
    this.#judgeMap();
    for (const listener of this.#servingListeners) listener(this.ownership.serving);
  }
}
