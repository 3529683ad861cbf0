import type { TrackerClients } from '../../services/job-client/discover/tracker-clients.js';
import { ResultReceiver } from '../../services/job-client/results/result-receiver.js';
import { MasterLease, type Mastership } from '../../shared/master/master-lease.js';
import { methods } from './network/methods.js';
import { NodeClock, type WallClock } from './node-clock.js';
import { Process } from './scheduler.js';
import { SimRouter } from './sim-router.js';
import type { World } from './world.js';

/** Who takes results, over its restarts. */
export interface ReceiverPlace {
  nodeId: string;
  /** The JobClient group. */
  nodeGroup: string;
  wall: WallClock;
}

/** What a member of a JobClient group stands on. */
interface Parts {
  process: Process;
  clock: NodeClock;
  router: SimRouter;
  clients: TrackerClients;
}

/** Takes results as a member of a JobClient group, of which one member is the master. */
export class GroupMember {
  readonly nodeGroup: string;
  readonly process: Process;
  readonly #world: World;
  readonly #clock: NodeClock;
  readonly #incarnation: string;
  readonly #lease: MasterLease;
  readonly #random: World['random'];

  constructor(world: World, nodeGroup: string, { process, ...parts }: Parts) {
    this.#world = world;
    this.#random = world.random.fork();
    this.nodeGroup = nodeGroup;
    this.process = process;
    this.#clock = parts.clock;
    this.#incarnation = world.newId();
    this.#lease = new MasterLease(parts.clock, (mastership) => this.#master(mastership));
    const hello = { submit_node_group: nodeGroup, client_id: process.host, max_in_flight: this.#random.pick([1, 10, 100]) };
    const mine = { onMaster: this.#lease.heard.bind(this.#lease), masterToken: () => this.#lease.token, clientTime: () => this.#lease.time };
    new ResultReceiver({ ...parts, ...mine, log: world.logger(process), hello }, (result) => this.#handle(result.feedback_id, result.state), 10);
    world.members.add(this);
  }

  /** The token under which it takes itself for the master now; 0: it does not, or is dead. */
  get masterToken(): number {
    return this.process.alive ? this.#lease.token : 0;
  }

  #master({ master, token }: Mastership): void {
    this.#world.trace(`${this.process.name} master ${master} under ${token}`);
    if (!master) return;
    this.#world.history.master(this.nodeGroup, token, this.#incarnation);
    this.#world.checkMasters(this.nodeGroup);
  }

  async #handle(id: string, state: string): Promise<void> {
    await this.#clock.sleep(this.#random.tail(20, 2_000));
    if (this.#random.chance(0.03)) throw new Error('the application does not take it');
    this.#world.history.record({ kind: 'result', id, state: state.replace('INSTANCE_STATE_', '') });
  }
}

/** One process start of a JobClient that only takes results. */
export class SimReceiver {
  readonly process: Process;
  readonly #world: World;
  readonly #member: GroupMember;
  readonly #router: SimRouter;

  constructor(world: World, { nodeId, nodeGroup, wall }: ReceiverPlace) {
    const { scheduler, network } = world;
    this.#world = world;
    const process = new Process(`${nodeId}#${world.nextNumber()}`, nodeId);
    this.process = process;
    this.#router = new SimRouter(world.hub, scheduler, process, world.addresses);
    const at = (address: string): object => ({ feedback: { watchFeedback: () => network.call(process, address, methods.watchFeedback) } });
    const clients = { at, closeAll: () => undefined } as unknown as TrackerClients;
    this.#member = new GroupMember(world, nodeGroup, { process, clock: new NodeClock(scheduler, process, wall), router: this.#router, clients });
  }

  crash(silently: boolean): void {
    this.#router.close();
    this.#world.scheduler.kill(this.process);
    this.#world.network.killed(this.process, silently);
    this.#world.members.delete(this.#member);
  }
}
