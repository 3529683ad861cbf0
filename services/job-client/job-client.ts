import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { formatAddress, parseAddress } from '../../shared/config/kinds.js';
import { ClusterWatcher } from '../../shared/discovery/cluster-watcher.js';
import { LtsError } from '../../shared/errors/lts-error.js';
import type { Reason } from '../../shared/errors/reasons.js';
import type { CancelJobRequest } from '../../shared/grpc/generated/lts/v1/CancelJobRequest.js';
import type { CancelJobResponse } from '../../shared/grpc/generated/lts/v1/CancelJobResponse.js';
import type { SubmitResult } from '../../shared/grpc/generated/lts/v1/SubmitResult.js';
import type { GroupMaster__Output } from '../../shared/grpc/generated/lts/v1/GroupMaster.js';
import { type Logger, silentLogger } from '../../shared/log/logger.js';
import { MasterLease, type MasterListener, type Mastership } from '../../shared/master/master-lease.js';
import type { Registry } from '../../shared/registry/registry.js';
import { systemClock } from '../../shared/time/clock.js';
import { type Core, createCore } from './core.js';
import { gatewayRouter, type Router } from './discover/router.js';
import { type ResultHandler, ResultReceiver, type ResultSubscription } from './results/result-receiver.js';
import { groupForm } from '../../shared/job/check-job.js';
import { Schedules } from './schedules/schedules.js';
import type { NewJob } from './submit/new-job.js';
import { fromValues } from './submit/pending-job.js';
import { refusedValue, ResultList } from './submit/submitter.js';

/** How a JobClient finds the scheduler and what it keeps. Give `trackers`, `registry`, both, or `gateway`. */
export interface JobClientOptions {
  /** host:port of JobTrackers; one that answers is enough, it tells the others. */
  trackers?: readonly string[];
  /** Names trackers that come later. It is not closed with the client. */
  registry?: Pick<Registry, 'watchMembers'>;
  /** host:port of a JobClient gateway; everything then goes through it. */
  gateway?: string;
  /** The JobClient group: receives results of jobs with `need_feedback` that name no other. */
  nodeGroup?: string;
  /** Folder on a local disk. With it, jobs that no tracker takes in time are kept there and sent later. */
  dataDir?: string;
  /** Stable name of this process, unique in its `dataDir`. Default: host name and group; without a `dataDir` they get a random end. */
  nodeId?: string;
  /** How long a call may take before it fails, or its job is stored. Default 3,000 ms; 10,000 ms with a gateway, which needs time of its own. */
  submitTimeout?: number;
  /** Limit of the FailStore in bytes. Default 256 MiB. */
  failStoreSize?: number;
  /** Default: nothing is logged. */
  log?: Logger;
}

/** How results are received. */
export interface ResultOptions {
  /** How many handlers run at once, and how many results a tracker may send ahead. Default 100. */
  maxInFlight?: number;
}

/**
 * Submits jobs and receives their results.
 *
 * ```ts
 * const client = new JobClient({ trackers: ['127.0.0.1:7401'], nodeGroup: 'shop' });
 * await client.submit({ task_id: 'order-1', node_group: 'mail', payload: 'hello' });
 * await client.close();
 * ```
 */
export class JobClient {
  /** Jobs with a schedule: list, get, suspend, resume, delete, trigger, preview. They are submitted as any job. */
  readonly schedules: Schedules;
  readonly #core: Core;
  readonly #nodeGroup: string;
  readonly #nodeId: string;
  readonly #log: Logger;
  readonly #receivers = new Set<ResultReceiver>();
  readonly #lease = new MasterLease(systemClock, (mastership) => this.#mastershipChanged(mastership));
  readonly #masterListeners = new Set<MasterListener>();
  #closed = false;

  /** Connects in the background. Throws INVALID_ARGUMENT, or what opening the FailStore throws. */
  constructor(options: JobClientOptions) {
    const { nodeGroup = '', log = silentLogger } = options;
    if (nodeGroup !== '' && !groupForm.test(nodeGroup)) throw new LtsError('INVALID_ARGUMENT', `nodeGroup is ${JSON.stringify(nodeGroup)}; give 1 to 64 of the characters A-Z a-z 0-9 . _ : -`);
    this.#nodeGroup = nodeGroup;
    this.#nodeId = options.nodeId ?? defaultNodeId(nodeGroup, options.dataDir !== undefined);
    this.#log = log;
    const router = toRouter(options, log);
    const timeoutMs = options.submitTimeout ?? (options.gateway === undefined ? 3_000 : 10_000);
    try {
      this.#core = createCore({
        router,
        log,
        clock: systemClock,
        submitTimeoutMs: timeoutMs,
        dataDir: options.dataDir,
        nodeId: this.#nodeId,
        scope: { cluster: '', nodeGroup, endpoints: [...(options.trackers ?? []), ...(options.gateway === undefined ? [] : [options.gateway])] },
        failStoreBytes: options.failStoreSize ?? 256 * 1024 * 1024,
      });
    } catch (error) {
      router.close();
      throw error;
    }
    this.schedules = new Schedules(this.#core, timeoutMs, () => this.#requireOpen());
  }

  /**
   * Submits one job. Resolves when it is durable: ACCEPTED, DUPLICATE_IGNORED, REPLACED, or STORED_LOCALLY on this disk.
   * Throws LtsError when it is refused, or with NO_TRACKER or DEADLINE_PASSED when there is no FailStore: its outcome is
   * then not known, and the same `instance_id` may be sent again.
   */
  async submit(job: NewJob): Promise<SubmitResult> {
    this.#requireOpen();
    const list = new ResultList(1);
    const pending = fromValues(job, this.#nodeGroup, list, 0);
    if (!this.#core.submitter.hasRoom) await this.#core.submitter.whenRoom();
    this.#core.submitter.submit(pending);
    const result = (await list.all())[0] ?? {};
    if (result.outcome !== 'SUBMIT_OUTCOME_REJECTED') return result;
    throw new LtsError((result.reason ?? 'INTERNAL') as Reason, `${result.message ?? ''} (instance_id ${pending.instanceId})`);
  }

  /**
   * Submits any number of jobs; gives one result per job in their order. Throws only when the client is closed: a job
   * that is refused, here or by the scheduler, has the outcome REJECTED with its reason. Waits while too many are on
   * their way.
   */
  async submitMany(jobs: readonly NewJob[]): Promise<SubmitResult[]> {
    this.#requireOpen();
    const list = new ResultList(jobs.length);
    const { submitter } = this.#core;
    for (let index = 0; index < jobs.length; index++) {
      if (!submitter.hasRoom) await submitter.whenRoom();
      try {
        submitter.submit(fromValues(jobs[index], this.#nodeGroup, list, index));
      } catch (error) {
        list.settle(index, refusedValue(error));
      }
    }
    return list.all();
  }

  /**
   * Cancels by `instance_id` and `node_group`, or by `task_id` and `node_group`. STORED_LOCALLY when the job itself still
   * waits in this FailStore. Throws LtsError: INSTANCE_NOT_FOUND, INVALID_ARGUMENT, NO_TRACKER.
   */
  async cancel(request: CancelJobRequest): Promise<CancelJobResponse> {
    this.#requireOpen();
    return this.#core.canceller.cancel(request);
  }

  /**
   * Receives results of the client's group (`nodeGroup`) until it is closed. Each is acked after the handler has
   * resolved; when it throws, the result comes again after a while. At least once: keep `feedback_id` where a repeat
   * would hurt.
   */
  onResult(handler: ResultHandler, options: ResultOptions = {}): ResultSubscription {
    this.#requireOpen();
    if (this.#nodeGroup === '') throw new LtsError('INVALID_ARGUMENT', 'the client has no nodeGroup; name the group whose results it receives');
    const { maxInFlight = 100 } = options;
    if (!Number.isInteger(maxInFlight) || maxInFlight < 1 || maxInFlight > 10_000) throw new LtsError('INVALID_ARGUMENT', `maxInFlight is ${String(maxInFlight)}; give 1 to 10,000`);
    const { router, clients, clock } = this.#core;
    const hello = { submit_node_group: this.#nodeGroup, client_id: this.#nodeId, max_in_flight: maxInFlight };
    const master = { onMaster: (said: GroupMaster__Output) => this.#lease.heard(said), masterToken: () => this.#lease.token, clientTime: () => this.#lease.time };
    const receiver = new ResultReceiver({ router, clients, clock, log: this.#log, hello, ...master }, handler, maxInFlight);
    this.#receivers.add(receiver);
    return {
      close: async () => {
        await receiver.close();
        this.#receivers.delete(receiver);
      },
    };
  }

  /** Who the master of the client's group is, as far as this client knows. */
  get mastership(): Mastership {
    return this.#lease.mastership;
  }

  /**
   * Calls at each change of who the master of the client's group is; at once when that is known. A client is a member
   * of its group while it receives results (`onResult`), and one member is the master. A process that stood still may
   * take itself for the master a moment too long: keep the token with what the master writes, and refuse smaller ones.
   */
  onMaster(listener: MasterListener): { close(): void } {
    this.#requireOpen();
    this.#masterListeners.add(listener);
    if (this.mastership.token > 0) listener(this.mastership);
    return { close: () => void this.#masterListeners.delete(listener) };
  }

  /** Waits for running handlers (at most 10 s), until their acks are stored (3 s) and for the answers of what was submitted, then disconnects. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#lease.close();
    await Promise.all([...this.#receivers].map((receiver) => receiver.close()));
    await this.#core.close();
  }

  #mastershipChanged(mastership: Mastership): void {
    this.#log.info('master.changed', { group: this.#nodeGroup, ...mastership });
    for (const listener of this.#masterListeners) listener(mastership);
  }

  #requireOpen(): void {
    if (this.#closed) throw new LtsError('CANCELLED', 'the JobClient is closed; make a new one');
  }
}

/** With a data folder it is stable, so that what is stored there is found again; without one it is of this client alone. */
function defaultNodeId(nodeGroup: string, isStable: boolean): string {
  const name = `${hostname()}-${nodeGroup === '' ? 'client' : nodeGroup}`;
  return isStable ? name.slice(0, 128) : `${name.slice(0, 119)}-${randomBytes(4).toString('hex')}`;
}

function toRouter({ trackers = [], registry, gateway }: JobClientOptions, log: Logger): Router {
  if (gateway !== undefined) return gatewayRouter(checkedAddress('gateway', gateway));
  if (trackers.length === 0 && registry === undefined) throw new LtsError('INVALID_ARGUMENT', 'neither trackers nor registry nor gateway is given; name one, such as trackers: ["127.0.0.1:7401"]');
  return new ClusterWatcher({ trackers: trackers.map((address) => checkedAddress('trackers', address)), log, ...(registry === undefined ? {} : { registry }) });
}

function checkedAddress(name: string, text: string): string {
  const address = typeof text === 'string' ? parseAddress(text) : undefined;
  if (address === undefined) throw new LtsError('INVALID_ARGUMENT', `${name} has ${JSON.stringify(text)}; give host:port, such as 127.0.0.1:7401`);
  return formatAddress(address);
}
