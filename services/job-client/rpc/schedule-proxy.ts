import type { UntypedHandleCall } from '@grpc/grpc-js';
import { contract } from '../../../shared/grpc/contract.js';
import type { TriggerScheduleRequest__Output } from '../../../shared/grpc/generated/lts/v1/TriggerScheduleRequest.js';
import type { Handlers } from '../../../shared/grpc/handlers.js';
import { newId } from '../../../shared/ids.js';
import type { CallParts } from '../discover/call-owner.js';
import { type AnyMethod, methodsOf, passToOwner, withBytes } from './pass-through.js';

const methods = methodsOf(contract.ScheduleService.service);

/** ScheduleService with bytes in place of messages. */
export const scheduleProxyDefinition = withBytes(methods);

/** ScheduleService by the owner of the group that a request names, or by any owner. */
export function scheduleProxy(handlers: Handlers, parts: CallParts): Record<string, UntypedHandleCall> {
  return Object.fromEntries(
    Object.entries(methods).map(([name, method]) => {
      const ready = name === 'TriggerSchedule' ? withRunId : same;
      return [name, handlers.unary<Buffer, Buffer>((bytes) => passToOwner(parts, method, ready(method, bytes))) as UntypedHandleCall];
    }),
  );
}

function same(_method: AnyMethod, bytes: Buffer): Buffer {
  return bytes;
}

/** A call that is tried again must not start a second run. */
function withRunId(method: AnyMethod, bytes: Buffer): Buffer {
  const { instance_id: sent } = method.requestDeserialize(bytes) as TriggerScheduleRequest__Output;
  return sent === '' ? Buffer.concat([bytes, runIdTag, Buffer.from(newId(), 'latin1')]) : bytes;
}

/** Field 3, length-delimited, 36 bytes: appending a field to a message sets it. */
const runIdTag = Buffer.from([0x1a, 36]);
