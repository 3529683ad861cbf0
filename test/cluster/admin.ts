import { credentials } from '@grpc/grpc-js';
import { contract } from '../../shared/grpc/contract.js';
import type { Attempt__Output } from '../../shared/grpc/generated/lts/v1/Attempt.js';
import type { GetClusterResponse__Output } from '../../shared/grpc/generated/lts/v1/GetClusterResponse.js';
import type { Instance__Output } from '../../shared/grpc/generated/lts/v1/Instance.js';
import type { ListInstancesResponse__Output } from '../../shared/grpc/generated/lts/v1/ListInstancesResponse.js';
import type { Node__Output } from '../../shared/grpc/generated/lts/v1/Node.js';
import type { OwedFeedback__Output } from '../../shared/grpc/generated/lts/v1/OwedFeedback.js';
import type { Queue__Output } from '../../shared/grpc/generated/lts/v1/Queue.js';
import { clientOptions } from '../../shared/grpc/options.js';

type Answer<Res> = (error: unknown, response?: Res) => void;

/** Status of one tracker through its AdminService. */
export class Admin {
  readonly address: string;
  readonly #client: InstanceType<typeof contract.AdminService>;
  readonly #withinMs: number;

  /** @param withinMs longest time for one call */
  constructor(address: string, withinMs = 5_000) {
    this.address = address;
    this.#withinMs = withinMs;
    this.#client = new contract.AdminService(address, credentials.createInsecure(), { ...clientOptions, 'grpc.max_reconnect_backoff_ms': 200, 'grpc.use_local_subchannel_pool': 1 });
  }

  cluster(): Promise<GetClusterResponse__Output> {
    return ask((done) => this.#client.getCluster({}, this.#soon(), done), 'GetCluster');
  }

  async instance(instanceId: string): Promise<Instance__Output> {
    const { instance } = await ask<{ instance: Instance__Output | null }>((done) => this.#client.getInstance({ instance_id: instanceId }, this.#soon(), done), 'GetInstance');
    if (instance === null) throw new Error(`GetInstance gave nothing for ${instanceId}`);
    return instance;
  }

  /** All instances, newest first. */
  async instances(): Promise<Instance__Output[]> {
    const all: Instance__Output[] = [];
    let token = '';
    do {
      const request = { page_size: 1_000, page_token: token };
      const page = await ask<ListInstancesResponse__Output>((done) => this.#client.listInstances(request, this.#soon(), done), 'ListInstances');
      all.push(...page.instances);
      token = page.next_page_token;
    } while (token !== '');
    return all;
  }

  async attempts(instanceId: string): Promise<Attempt__Output[]> {
    return (await ask<{ attempts: Attempt__Output[] }>((done) => this.#client.listAttempts({ instance_id: instanceId }, this.#soon(), done), 'ListAttempts')).attempts;
  }

  async queues(): Promise<Queue__Output[]> {
    return (await ask<{ queues: Queue__Output[] }>((done) => this.#client.listQueues({}, this.#soon(), done), 'ListQueues')).queues;
  }

  async nodes(): Promise<Node__Output[]> {
    return (await ask<{ nodes: Node__Output[] }>((done) => this.#client.listNodes({}, this.#soon(), done), 'ListNodes')).nodes;
  }

  async feedback(group: string): Promise<OwedFeedback__Output[]> {
    const request = { submit_node_group: group };
    return (await ask<{ entries: OwedFeedback__Output[] }>((done) => this.#client.listFeedback(request, this.#soon(), done), 'ListFeedback')).entries;
  }

  /** Gives whether it was not drained before. */
  async drain(nodeId: string): Promise<boolean> {
    return (await ask<{ changed: boolean }>((done) => this.#client.drainNode({ node_id: nodeId }, this.#soon(), done), 'DrainNode')).changed;
  }

  /** Gives whether it was drained before. */
  async undrain(nodeId: string): Promise<boolean> {
    return (await ask<{ changed: boolean }>((done) => this.#client.undrainNode({ node_id: nodeId }, this.#soon(), done), 'UndrainNode')).changed;
  }

  /** The reasons why an instance does not run. */
  async explain(instanceId: string): Promise<string[]> {
    const request = { instance_id: instanceId };
    return (await ask<{ causes: { reason: string }[] }>((done) => this.#client.explainInstance(request, this.#soon(), done), 'ExplainInstance')).causes.map(({ reason }) => reason);
  }

  close(): void {
    this.#client.close();
  }

  #soon(): { deadline: number } {
    return { deadline: Date.now() + this.#withinMs };
  }
}

function ask<Res>(send: (done: Answer<Res>) => unknown, what: string): Promise<Res> {
  return new Promise((resolve, reject) => {
    send((error, response) => {
      if (error instanceof Error) reject(error);
      else if (response === undefined) reject(new Error(`${what} gave no answer`));
      else resolve(response);
    });
  });
}
