import type { LineStore } from '../../services/task-tracker/report/line-store.js';
import type { ResultStore } from '../../services/task-tracker/report/result-store.js';
import { leave } from '../../services/task-tracker/stream/leave.js';
import type { ToMain } from '../../services/task-tracker/stream/messages.js';
import type { WorkCall } from '../../services/task-tracker/stream/work-call.js';
import { WorkerNode } from '../../services/task-tracker/stream/worker-node.js';
import type { TaskResult } from '../../shared/grpc/generated/lts/v1/TaskResult.js';
import type { Mastership } from '../../shared/master/master-lease.js';
import { methods } from './network/methods.js';
import { NodeClock, type WallClock } from './node-clock.js';
import { Process, Queue } from './scheduler.js';
import { SimRouter } from './sim-router.js';
import { SimRunner } from './sim-runner.js';
import type { World } from './world.js';

/** What stays on the disk of a worker when its process dies. */
export class WorkerDisk {
  readonly results = new Map<string, TaskResult>();
  /** Process starts that had this disk and have ended. */
  readonly incarnations: string[] = [];
}

/** Who a worker is, over its restarts. */
export interface WorkerPlace {
  nodeId: string;
  nodeGroup: string;
  types: string[];
  workThreads: number;
  disk: WorkerDisk;
  wall: WallClock;
}

/** One process start of a TaskTracker: the whole stream thread, beside a thread that plays its runs. */
export class SimWorker {
  readonly process: Process;
  readonly place: WorkerPlace;
  readonly node: WorkerNode;
  readonly runner: SimRunner;
  leaving = false;
  /** The thread that runs tasks hears nothing before. */
  blockedUntil = 0;
  readonly #world: World;
  readonly #clock: NodeClock;
  readonly #router: SimRouter;
  readonly #incarnation: string;
  readonly #toMainQueue: Queue;

  constructor(world: World, place: WorkerPlace) {
    const { scheduler, history } = world;
    this.#world = world;
    this.place = place;
    const number = world.nextNumber();
    this.#incarnation = world.newId();
    this.process = new Process(`${place.nodeId}#${number}`, place.nodeId);
    world.incarnations.set(this.#incarnation, this.process);
    this.#clock = new NodeClock(scheduler, this.process, place.wall);
    this.#router = new SimRouter(world.hub, scheduler, this.process, world.addresses);
    this.#toMainQueue = new Queue(scheduler);
    const toStream = new Queue(scheduler);
    history.record({ kind: 'worker', pid: number, workThreads: place.workThreads });
    this.runner = new SimRunner(world, this.process, this.#clock, number, (message) =>
      toStream.after(scheduler.random.next(), `to stream ${message.kind}`, () => {
        this.node.take(message);
        this.node.pump();
      }, this.process),
    );
    this.node = new WorkerNode({
      hello: {
        node_id: place.nodeId, incarnation: this.#incarnation, node_group: place.nodeGroup, types: place.types, work_threads: place.workThreads, host: place.nodeId, pid: number,
        version: 'sim',
      },
      predecessors: () => place.disk.incarnations,
      owners: this.#router,
      results: resultsOn(place.disk),
      lines: linesInMemory(),
      open: (address) => this.#open(address),
      post: (message) => this.#toMain(message),
      clock: this.#clock,
      log: world.logger(this.process),
    });
  }

  /** Ends at once; what is on its disk stays. */
  crash(silently: boolean): void {
    this.#end(silently);
  }

  async leave(): Promise<void> {
    this.leaving = true;
    await leave(this.node, { graceMs: 2_000, deliverMs: 5_000 }, this.#clock);
    this.#end(false);
  }

  #end(silently: boolean): void {
    this.#router.close();
    this.place.disk.incarnations.push(this.#incarnation);
    this.#world.scheduler.kill(this.process);
    this.#world.network.killed(this.process, silently);
  }

  #toMain(message: ToMain): void {
    const { scheduler } = this.#world;
    if (message.kind === 'master') this.#master(message.mastership);
    this.#toMainQueue.after(Math.max(scheduler.random.next(), this.blockedUntil - scheduler.now), `to main ${message.kind}`, () => this.runner.take(message), this.process);
  }

  /** Tokens only grow, and each is of one node. */
  #master({ master, token }: Mastership): void {
    const { nodeGroup } = this.place;
    this.#world.trace(`${this.process.name} master ${master} under ${token}`);
    if (!master) return;
    this.#world.history.master(nodeGroup, token, this.#incarnation);
    this.#world.checkMasters(nodeGroup);
  }

  #open(address: string): WorkCall {
    const stream = this.#world.network.call(this.process, address, methods.work);
    return { stream: stream as unknown as WorkCall['stream'], close: () => stream.cancel() };
  }
}

function resultsOn({ results }: WorkerDisk): ResultStore {
  const keyOf = ({ instance_id, attempt, incarnation }: TaskResult): string => `${instance_id}/${attempt}/${incarnation}`;
  return {
    keep: (some) => {
      for (const result of some) results.set(keyOf(result), structuredClone(result));
      return true;
    },
    forget: (some) => {
      for (const result of some) results.delete(keyOf(result));
    },
    load: () => [...results.values()],
  };
}

/** Lines may be lost: the simulation looks at none. */
function linesInMemory(): LineStore {
  return { keep: () => true, next: () => undefined, rewind: () => undefined, forget: () => undefined, takeStored: () => undefined };
}
