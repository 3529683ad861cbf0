import { type Server, type ServerDuplexStream, type ServerWritableStream, type UntypedHandleCall } from '@grpc/grpc-js';
import { LtsError } from '../../shared/errors/lts-error.js';
import { contract, type Raw, rawContract } from '../../shared/grpc/contract.js';
import type { CancelJobRequest__Output } from '../../shared/grpc/generated/lts/v1/CancelJobRequest.js';
import type { CancelJobResponse } from '../../shared/grpc/generated/lts/v1/CancelJobResponse.js';
import type { ClusterMap } from '../../shared/grpc/generated/lts/v1/ClusterMap.js';
import type { Instance } from '../../shared/grpc/generated/lts/v1/Instance.js';
import type { Job__Output } from '../../shared/grpc/generated/lts/v1/Job.js';
import type { ListInstancesRequest__Output } from '../../shared/grpc/generated/lts/v1/ListInstancesRequest.js';
import type { ListInstancesResponse } from '../../shared/grpc/generated/lts/v1/ListInstancesResponse.js';
import type { SubmitJobsRequest__Output } from '../../shared/grpc/generated/lts/v1/SubmitJobsRequest.js';
import type { SubmitJobsResponse } from '../../shared/grpc/generated/lts/v1/SubmitJobsResponse.js';
import type { SubmitResult } from '../../shared/grpc/generated/lts/v1/SubmitResult.js';
import type { WatchClusterResponse } from '../../shared/grpc/generated/lts/v1/WatchClusterResponse.js';
import type { WatchFeedbackRequest__Output } from '../../shared/grpc/generated/lts/v1/WatchFeedbackRequest.js';
import type { WatchFeedbackResponse } from '../../shared/grpc/generated/lts/v1/WatchFeedbackResponse.js';
import { createHandlers } from '../../shared/grpc/handlers.js';
import { decodeJob } from '../../shared/grpc/job-codec.js';
import { createServer, listen } from '../../shared/grpc/listen.js';
import { silentLogger } from '../../shared/log/logger.js';

/** For tests: a receiver of results that is connected to a FakeTracker. */
export type FakeReceiver = ServerDuplexStream<WatchFeedbackRequest__Output, WatchFeedbackResponse>;

/**
 * For tests: a tracker in this process that takes all jobs and remembers what it was sent. What it answers can be
 * changed at any time.
 */
export class FakeTracker {
  address = '';
  /** One entry per call SubmitJobs. */
  readonly calls: Job__Output[][] = [];
  /** Ids of the jobs that were said to come out of a FailStore. */
  readonly late = new Set<string>();
  readonly cancels: CancelJobRequest__Output[] = [];
  readonly receivers = new Set<FakeReceiver>();
  readonly frames: WatchFeedbackRequest__Output[] = [];
  /** Waited for before the stream of a receiver that leaves is ended. */
  onLeave: () => Promise<void> | void = () => undefined;
  /** The answer for a job; undefined: accepted. */
  onJob: (job: Job__Output) => SubmitResult | undefined = () => undefined;
  /** Called before each SubmitJobs is answered; what it throws is the answer, what it returns is waited for. */
  onCall: (jobs: readonly Job__Output[]) => void | Promise<void> = () => undefined;
  onCancel: (request: CancelJobRequest__Output) => CancelJobResponse = ({ instance_id: id }) => ({ outcome: 'CANCEL_OUTCOME_CANCELLED', instance_ids: [id] });
  /** What was asked of ScheduleService, by method. */
  readonly scheduleCalls: { method: string; request: object }[] = [];
  /** Its answer; what it throws is the answer, too. */
  onSchedule: (method: string, request: { node_group: string; task_id: string; live_only?: boolean }) => object = (_, { task_id: taskId }) => {
    throw new LtsError('NOT_FOUND', `there is no schedule ${taskId}`);
  };
  /** What ListInstances shows. */
  instances: Instance[] = [];
  map: ClusterMap | undefined;
  readonly #server: Server = createServer();
  readonly #watchers = new Set<ServerWritableStream<unknown, WatchClusterResponse>>();

  /** All jobs that it was sent, in order. */
  get jobs(): Job__Output[] {
    return this.calls.flat();
  }

  async start(port = 0): Promise<this> {
    const handlers = createHandlers(silentLogger);
    this.#server.addService(rawContract.JobService.service, {
      SubmitJobs: handlers.unary<Raw<SubmitJobsRequest__Output>, SubmitJobsResponse>(async (request) => ({ results: await this.#submit(request.jobs, request.from_fail_store) })) as UntypedHandleCall,
      CancelJob: handlers.unary<CancelJobRequest__Output, CancelJobResponse>((request) => {
        this.cancels.push(request);
        return this.onCancel(request);
      }) as UntypedHandleCall,
    });
    this.#server.addService(contract.AdminService.service, {
      ListInstances: handlers.unary<ListInstancesRequest__Output, ListInstancesResponse>(({ node_group: group, task_id: task }) => ({
        instances: this.instances.filter(({ job }) => job?.node_group === group && job.task_id === task),
      })) as UntypedHandleCall,
    });
    const methods = Object.keys(contract.ScheduleService.service);
    this.#server.addService(contract.ScheduleService.service, Object.fromEntries(methods.map((method) => [method, handlers.unary<{ node_group: string; task_id: string }, object>((request) => {
      this.scheduleCalls.push({ method, request });
      return this.onSchedule(method, request);
    }) as UntypedHandleCall])));
    this.#server.addService(contract.ClusterService.service, {
      WatchCluster: (call: ServerWritableStream<unknown, WatchClusterResponse>) => {
        this.#watchers.add(call);
        call.on('cancelled', () => this.#watchers.delete(call));
        if (this.map !== undefined) call.write({ map: this.map });
      },
    });
    this.#server.addService(contract.FeedbackService.service, { WatchFeedback: (call: FakeReceiver) => this.#receive(call) });
    this.address = `127.0.0.1:${await listen(this.#server, '127.0.0.1', port)}`;
    return this;
  }

  /** Shows a map in which the tracker at `owner` owns the only partition. */
  showOwner(version: number, owner: string, ...others: string[]): void {
    const trackers = [owner, ...others].map((address) => ({ node_id: address, address }));
    this.map = { version, partitions: 1, trackers, owners: [{ partition: 0, node_id: owner }] };
    for (const watcher of this.#watchers) watcher.write({ map: this.map });
  }

  stop(): void {
    this.#server.forceShutdown();
  }

  async #submit(jobs: readonly Buffer[], late: boolean): Promise<SubmitResult[]> {
    const decoded = jobs.map((bytes) => decodeJob(bytes));
    if (late) for (const { instance_id: id } of decoded) this.late.add(id);
    this.calls.push(decoded);
    await this.onCall(decoded);
    return decoded.map((job) => this.onJob(job) ?? { instance_id: job.instance_id, outcome: 'SUBMIT_OUTCOME_ACCEPTED' });
  }

  #receive(call: FakeReceiver): void {
    this.receivers.add(call);
    call.on('data', (frame: WatchFeedbackRequest__Output) => {
      this.frames.push(frame);
      if (frame.frame === 'hello') call.write({ results: [] });
    });
    const gone = (): void => void this.receivers.delete(call);
    call.on('cancelled', gone);
    call.on('error', gone);
    call.on('end', () => {
      gone();
      void Promise.resolve(this.onLeave()).then(() => call.end());
    });
  }
}
