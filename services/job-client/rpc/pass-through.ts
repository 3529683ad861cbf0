import type { Client, MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';
import { type CallParts, callOwner, type UnaryCall } from '../discover/call-owner.js';

/*
 * Calls that the gateway passes on as bytes: requests are only read for where they go, answers not at all.
 */

export type AnyMethod = MethodDefinition<object, object>;

const timeoutMs = 5_000;
const same = (bytes: Buffer): Buffer => bytes;

/** The methods of a service, by name. */
export function methodsOf(service: object): Record<string, AnyMethod> {
  return service as Record<string, AnyMethod>;
}

/** The service with bytes in place of messages. */
export function withBytes(methods: Record<string, AnyMethod>): ServiceDefinition {
  const passing = { requestDeserialize: same, requestSerialize: same, responseSerialize: same, responseDeserialize: same };
  return Object.fromEntries(Object.entries(methods).map(([name, method]) => [name, { ...method, ...passing }])) as unknown as ServiceDefinition;
}

/** One call of the method at an address, with these bytes. */
export function callWith(method: AnyMethod, bytes: Buffer): UnaryCall<Buffer> {
  // Which of the clients does not matter: they share the connection, and the path names the service.
  return (clients, options, answer) => (clients.admin as Client).makeUnaryRequest(method.path, same, same, bytes, options, answer);
}

/** To the owner of the group that the request names, or to any owner. */
export function passToOwner(parts: CallParts, method: AnyMethod, bytes: Buffer): Promise<Buffer> {
  const { node_group: nodeGroup = '' } = method.requestDeserialize(bytes) as { node_group?: string };
  return callOwner(parts, nodeGroup, timeoutMs, callWith(method, bytes));
}
