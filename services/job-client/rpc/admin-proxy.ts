import type { Client, MethodDefinition, ServiceDefinition, UntypedHandleCall } from '@grpc/grpc-js';
import { contract } from '../../../shared/grpc/contract.js';
import type { Handlers } from '../../../shared/grpc/handlers.js';
import { type CallParts, callOwner } from '../discover/call-owner.js';

const timeoutMs = 5_000;

const same = (bytes: Buffer): Buffer => bytes;

type AnyMethod = MethodDefinition<object, object>;

const methods = Object.entries(contract.AdminService.service as unknown as Record<string, AnyMethod>);

/** AdminService with bytes in place of messages: answers pass through as they are. */
export const adminProxyDefinition = Object.fromEntries(
  methods.map(([name, method]) => [name, { ...method, requestDeserialize: same, requestSerialize: same, responseSerialize: same, responseDeserialize: same }]),
) as unknown as ServiceDefinition;

/** AdminService: every call goes to the owner of the group that it names, or to any owner. */
export function adminProxy(handlers: Handlers, parts: CallParts): Record<string, UntypedHandleCall> {
  const pass = ([name, method]: [string, AnyMethod]): [string, UntypedHandleCall] => [
    name,
    handlers.unary<Buffer, Buffer>((bytes) => {
      const { node_group: nodeGroup = '' } = method.requestDeserialize(bytes) as { node_group?: string };
      return callOwner<Buffer>(parts, nodeGroup, timeoutMs, (clients, options, answer) =>
        (clients.admin as Client).makeUnaryRequest(method.path, same, same, bytes, options, answer));
    }) as UntypedHandleCall,
  ];
  return Object.fromEntries(methods.map(pass));
}
