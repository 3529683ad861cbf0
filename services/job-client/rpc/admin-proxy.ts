import type { UntypedHandleCall } from '@grpc/grpc-js';
import { LtsError, toLtsError } from '../../../shared/errors/lts-error.js';
import { contract } from '../../../shared/grpc/contract.js';
import type { ListNodesResponse__Output } from '../../../shared/grpc/generated/lts/v1/ListNodesResponse.js';
import type { ListQueuesResponse__Output } from '../../../shared/grpc/generated/lts/v1/ListQueuesResponse.js';
import type { Handlers } from '../../../shared/grpc/handlers.js';
import { callAt, type CallParts } from '../discover/call-owner.js';
import { mergeNodes, mergeQueues } from './merge-status.js';
import { type AnyMethod, callWith, methodsOf, passToOwner, withBytes } from './pass-through.js';

/** Who is silent for so long is left out of what is put together from all trackers. */
const eachWithinMs = 2_000;

type Handle = (bytes: Buffer) => Promise<Buffer>;

const methods = methodsOf(contract.AdminService.service);

/** AdminService with bytes in place of messages: answers pass through as they are. */
export const adminProxyDefinition = withBytes(methods);

/**
 * AdminService for the whole cluster: nodes and queues are put together from all trackers, a drain goes to a tracker
 * that knows the node, all else to the owner of the group that it names, or to any owner.
 */
export function adminProxy(handlers: Handlers, parts: CallParts): Record<string, UntypedHandleCall> {
  const proxy = new AdminProxy(parts);
  return Object.fromEntries(Object.entries(methods).map(([name, method]) => [name, handlers.unary<Buffer, Buffer>(proxy.handle(name, method)) as UntypedHandleCall]));
}

class AdminProxy {
  readonly #parts: CallParts;

  constructor(parts: CallParts) {
    this.#parts = parts;
  }

  handle(name: string, method: AnyMethod): Handle {
    switch (name) {
      case 'ListNodes':
        return this.#gathered<ListNodesResponse__Output>(method, (answers, missing) => ({ nodes: mergeNodes(answers.map(({ nodes }) => nodes), missing) }));
      case 'ListQueues':
        return this.#gathered<ListQueuesResponse__Output>(method, (answers) => ({ queues: mergeQueues(answers.map(({ queues }) => queues)) }));
      case 'DrainNode':
        return (bytes) => this.#knowing(method, bytes);
      default:
        return (bytes) => passToOwner(this.#parts, method, bytes);
    }
  }

  /** From all live trackers; those that fail are named. Those that own nothing know nothing. */
  #gathered<Res extends { missing: string[] }>(method: AnyMethod, merge: (answers: Res[], missing: readonly string[]) => Omit<Res, 'missing'>): Handle {
    return async (bytes) => {
      const asked = await this.#askAll(method, bytes);
      const answers = asked.flatMap(({ answer }) => (answer === undefined ? [] : [method.responseDeserialize(answer) as Res]));
      // Nobody is reached who owns something: that may be a matter of a moment.
      if (answers.length === 0) return passToOwner(this.#parts, method, bytes);
      const missing = asked.flatMap(({ address, error }) => (error === undefined || error.reason === 'NOT_OWNER' ? [] : [address]));
      return method.responseSerialize({ ...merge(answers, missing), missing });
    };
  }

  /** The first answer of a tracker that knows the node. */
  async #knowing(method: AnyMethod, bytes: Buffer): Promise<Buffer> {
    let failed: LtsError | undefined;
    for (const address of this.#parts.router.live) {
      try {
        return await callAt(this.#parts, address, eachWithinMs, callWith(method, bytes));
      } catch (error) {
        const known = toLtsError(error);
        if (known.reason !== 'NOT_FOUND' && known.reason !== 'NO_TRACKER' && known.reason !== 'DEADLINE_PASSED') throw known;
        if (failed?.reason !== 'NOT_FOUND') failed = known;
      }
    }
    if (failed?.reason !== 'NOT_FOUND') throw failed ?? new LtsError('NO_TRACKER', 'no JobTracker is known; start one, or check the addresses');
    const { node_id: nodeId } = method.requestDeserialize(bytes) as { node_id: string };
    throw new LtsError('NOT_FOUND', `there is no tracker or worker ${JSON.stringify(nodeId.slice(0, 128))}; known are ${await this.#knownNodes()}`);
  }

  async #knownNodes(): Promise<string> {
    const method = methods['ListNodes'] as AnyMethod;
    const asked = await this.#askAll(method, method.requestSerialize({}));
    const nodes = asked.flatMap(({ answer }) => (answer === undefined ? [] : (method.responseDeserialize(answer) as ListNodesResponse__Output).nodes));
    const ids = new Set(nodes.filter(({ kind }) => kind !== 'NODE_KIND_JOB_CLIENT').map((node) => node.node_id));
    return [...ids].toSorted().slice(0, 50).join(', ') || 'none';
  }

  #askAll(method: AnyMethod, bytes: Buffer): Promise<{ address: string; answer?: Buffer; error?: LtsError }[]> {
    const ask = async (address: string): Promise<{ address: string; answer?: Buffer; error?: LtsError }> => {
      try {
        return { address, answer: await callAt(this.#parts, address, eachWithinMs, callWith(method, bytes)) };
      } catch (error) {
        return { address, error: toLtsError(error) };
      }
    };
    return Promise.all(this.#parts.router.live.map(ask));
  }
}
