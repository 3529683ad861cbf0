import type { Server, ServerDuplexStream, ServerWritableStream } from '@grpc/grpc-js';
import { contract } from '../../shared/grpc/contract.js';
import type { AttemptProgress__Output } from '../../shared/grpc/generated/lts/v1/AttemptProgress.js';
import type { ClusterMap } from '../../shared/grpc/generated/lts/v1/ClusterMap.js';
import type { HeldAttempt__Output } from '../../shared/grpc/generated/lts/v1/HeldAttempt.js';
import type { Inventory__Output } from '../../shared/grpc/generated/lts/v1/Inventory.js';
import type { Hello__Output } from '../../shared/grpc/generated/lts/v1/Hello.js';
import type { Job } from '../../shared/grpc/generated/lts/v1/Job.js';
import type { LogLine__Output } from '../../shared/grpc/generated/lts/v1/LogLine.js';
import type { PartitionEpoch } from '../../shared/grpc/generated/lts/v1/PartitionEpoch.js';
import type { Pong__Output } from '../../shared/grpc/generated/lts/v1/Pong.js';
import type { ResultRefusal } from '../../shared/grpc/generated/lts/v1/ResultRefusal.js';
import type { Task } from '../../shared/grpc/generated/lts/v1/Task.js';
import type { TaskResult__Output } from '../../shared/grpc/generated/lts/v1/TaskResult.js';
import type { WatchClusterResponse } from '../../shared/grpc/generated/lts/v1/WatchClusterResponse.js';
import type { WorkRequest__Output } from '../../shared/grpc/generated/lts/v1/WorkRequest.js';
import type { WorkResponse } from '../../shared/grpc/generated/lts/v1/WorkResponse.js';
import { createServer, listen } from '../../shared/grpc/listen.js';
import { newId } from '../../shared/ids.js';

type WorkStream = ServerDuplexStream<WorkRequest__Output, WorkResponse>;
type MapStream = ServerWritableStream<unknown, WatchClusterResponse>;

/** How the fake answers. Changes count from the next frame on. */
export interface FakeJobTrackerOptions {
  storeId: string;
  epoch: number;
  graceMs: number;
  pingIntervalMs: number;
  /** Whether Hello is answered by Welcome and Owns. */
  welcomes: boolean;
  acksResults: boolean;
  acksLogs: boolean;
  /** Called for each result before it is acked; what it returns is the refusal. */
  refuse: (result: TaskResult__Output) => ResultRefusal['reason'] | undefined;
}

/** One Work stream, with all that the worker said on it. */
export class FakeSession {
  readonly stream: WorkStream;
  readonly #options: FakeJobTrackerOptions;
  hello: Hello__Output | undefined;
  /** Kinds of frames in their order. */
  readonly order: string[] = [];
  /** The chunks of each Inventory; a new one begins after an end mark. */
  readonly inventories: HeldAttempt__Output[][] = [];
  readonly inventoryChunks: number[] = [];
  /** The token under which the worker took itself for the master in its last Inventory. */
  masterToken = 0;
  #inventoryOpen = false;
  granted = 0;
  sent = 0;
  readonly resultFrames: { sequence: number; results: TaskResult__Output[] }[] = [];
  readonly progress: AttemptProgress__Output[] = [];
  readonly logFrames: { sequence: number; lines: LogLine__Output[] }[] = [];
  readonly pongs: Pong__Output[] = [];
  goodbye = false;
  closed = false;

  constructor(stream: WorkStream, options: FakeJobTrackerOptions) {
    this.stream = stream;
    this.#options = options;
    stream.on('data', (frame: WorkRequest__Output) => this.#take(frame));
    stream.on('end', () => stream.end());
    stream.on('error', () => undefined);
    const closed = (): void => {
      this.closed = true;
    };
    stream.on('close', closed);
    stream.on('cancelled', closed);
  }

  get results(): TaskResult__Output[] {
    return this.resultFrames.flatMap(({ results }) => results);
  }

  get lines(): LogLine__Output[] {
    return this.logFrames.flatMap(({ lines }) => lines);
  }

  get inventory(): HeldAttempt__Output[] | undefined {
    return this.#inventoryOpen ? undefined : this.inventories.at(-1);
  }

  get unused(): number {
    return this.granted - this.sent;
  }

  send(frame: WorkResponse): void {
    if (!this.closed) this.stream.write(frame);
  }

  owns(epoch = this.#options.epoch, partitions: PartitionEpoch[] = [{ partition: 0, epoch }]): void {
    this.send({ owns: { store_id: this.#options.storeId, partitions } });
  }

  tasks(tasks: Task[]): void {
    this.sent += tasks.length;
    this.send({ tasks: { tasks } });
  }

  #take(frame: WorkRequest__Output): void {
    if (frame.frame !== undefined) this.order.push(frame.frame);
    if (frame.hello) {
      this.hello = frame.hello;
      if (!this.#options.welcomes) return;
      this.send({ welcome: { tracker_id: 'fake', grace: this.#options.graceMs, ping_interval: this.#options.pingIntervalMs } });
      this.owns();
    }
    if (frame.inventory) this.#takeInventory(frame.inventory);
    if (frame.slots) this.granted = frame.slots.granted;
    if (frame.results) this.#takeResults(frame.results.sequence, frame.results.results);
    if (frame.progress) this.progress.push(...frame.progress.entries);
    if (frame.logs) {
      this.logFrames.push(frame.logs);
      if (this.#options.acksLogs) this.send({ logs_ack: { sequence: frame.logs.sequence } });
    }
    if (frame.pong) this.pongs.push(frame.pong);
    if (frame.goodbye) this.goodbye = true;
  }

  #takeInventory({ held, end, master_token: masterToken }: Inventory__Output): void {
    if (!this.#inventoryOpen) this.inventories.push([]);
    this.inventories.at(-1)?.push(...held);
    this.inventoryChunks.push(held.length);
    this.#inventoryOpen = !end;
    this.masterToken = masterToken;
  }

  #takeResults(sequence: number, results: TaskResult__Output[]): void {
    this.resultFrames.push({ sequence, results });
    if (!this.#options.acksResults) return;
    const refusals = results.flatMap((result): ResultRefusal[] => {
      const reason = this.#options.refuse(result);
      return reason === undefined ? [] : [{ instance_id: result.instance_id, attempt: result.attempt, reason }];
    });
    this.send({ results_ack: { sequence, refusals } });
  }
}

/** A tracker without a store, for tests of workers: it owns every group and sends what the test says. */
export class FakeJobTracker {
  readonly options: FakeJobTrackerOptions;
  readonly sessions: FakeSession[] = [];
  readonly #maps = new Set<MapStream>();
  #server: Server = createServer();
  #version = 1;
  #owner: string | undefined;
  address = '';

  constructor(options: Partial<FakeJobTrackerOptions> = {}) {
    this.options = {
      storeId: newId(),
      epoch: 1,
      graceMs: 10_000,
      pingIntervalMs: 10_000,
      welcomes: true,
      acksResults: true,
      acksLogs: true,
      refuse: () => undefined,
      ...options,
    };
  }

  /** The newest session. */
  get session(): FakeSession {
    const session = this.sessions.at(-1);
    if (session === undefined) throw new Error('no worker has connected');
    return session;
  }

  /** All results on all streams, with repeats. */
  get results(): TaskResult__Output[] {
    return this.sessions.flatMap(({ results }) => results);
  }

  async start(port = 0): Promise<this> {
    this.#server.addService(contract.WorkerService.service, { work: (stream: WorkStream) => void this.sessions.push(new FakeSession(stream, this.options)) });
    this.#server.addService(contract.ClusterService.service, {
      watchCluster: (stream: MapStream) => {
        this.#maps.add(stream);
        stream.on('cancelled', () => this.#maps.delete(stream));
        stream.write({ map: this.#map() });
      },
    });
    this.address = `127.0.0.1:${await listen(this.#server, '127.0.0.1', port)}`;
    for (const stream of this.#maps) stream.write({ map: this.#map() });
    return this;
  }

  /** Stops at once, as a killed process does, and can be started again. */
  stop(): void {
    this.#server.forceShutdown();
    this.#server = createServer();
  }

  /** Says that another tracker owns all groups. */
  pointTo(address: string): void {
    this.#owner = address;
    this.#version++;
    for (const stream of this.#maps) stream.write({ map: this.#map() });
  }

  #map(): ClusterMap {
    const address = this.#owner ?? this.address;
    return { version: this.#version, partitions: 1, trackers: [{ node_id: address, address }], owners: [{ partition: 0, node_id: address }] };
  }
}

/** A task with this job; what is not given has a sensible value. */
export function taskOf(job: Job, task: Partial<Task> = {}): Task {
  return { instance_id: newId(), attempt: 1, partition: 0, epoch: 1, scheduled_time: 1_700_000_000_000, fencing_token: 1, retry_times: 0, ...task, job: { task_id: 't', node_group: 'g', ...job } };
}
