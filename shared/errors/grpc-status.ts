import { randomUUID } from 'node:crypto';
import { Metadata, type ServiceError, status, type StatusObject } from '@grpc/grpc-js';
import { LtsError, messageOf, toLtsError } from './lts-error.js';
import { type Reason, reasons } from './reasons.js';

/** Trailing metadata with the stable reason. */
export const reasonKey = 'lts-reason';
/** Trailing metadata with the owner's host:port, with NOT_OWNER. */
export const ownerKey = 'lts-owner';

/** What the caller gets. The text of an unknown error is never sent: `onUnknown` gets it with the id that is. */
export function toGrpcStatus(error: unknown, onUnknown: (error: unknown, correlationId: string) => void): StatusObject {
  const known = toLtsError(error);
  const metadata = new Metadata();
  metadata.set(reasonKey, known.reason);
  if (known.owner !== undefined && known.owner !== '') metadata.set(ownerKey, known.owner);
  let details = known.message;
  if (known.reason === 'INTERNAL') {
    const correlationId = randomUUID();
    onUnknown(known.cause ?? known, correlationId);
    details = `internal error, correlation id ${correlationId}`;
  }
  return { code: reasons[known.reason].code, details: sendable(details), metadata };
}

/** Longer texts would not fit into the trailing headers, and the caller would get none at all. */
const longestDetails = 1_024;

/** The text cut to length and without halves of characters, which cannot be encoded. */
function sendable(text: string): string {
  const cut = text.length <= longestDetails ? text : `${text.slice(0, longestDetails)}…`;
  return cut.replaceAll(/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g, '\uFFFD');
}

/** The LtsError behind a failed call; statuses without lts-reason get the nearest reason. */
export function fromGrpcError(error: unknown): LtsError {
  if (error instanceof LtsError) return error;
  const call = error as Partial<ServiceError>;
  if (typeof call?.code !== 'number') return new LtsError('INTERNAL', messageOf(error), { cause: error });
  const told = call.metadata?.get(reasonKey)[0]?.toString();
  const reason = told !== undefined && told in reasons ? (told as Reason) : reasonOfCode(call.code);
  const owner = call.metadata?.get(ownerKey)[0]?.toString();
  return new LtsError(reason, call.details ?? messageOf(error), { cause: error, ...(owner === undefined ? {} : { owner }) });
}

function reasonOfCode(code: status): Reason {
  switch (code) {
    case status.INVALID_ARGUMENT:
    case status.OUT_OF_RANGE:
      return 'INVALID_ARGUMENT';
    case status.NOT_FOUND:
      return 'NOT_FOUND';
    case status.ALREADY_EXISTS:
      return 'INSTANCE_ID_CONFLICT';
    case status.RESOURCE_EXHAUSTED:
      return 'TOO_MANY_CALLS';
    case status.UNAVAILABLE:
      return 'NO_TRACKER';
    case status.DEADLINE_EXCEEDED:
      return 'DEADLINE_PASSED';
    case status.CANCELLED:
      return 'CANCELLED';
    case status.UNIMPLEMENTED:
      return 'UNSUPPORTED';
    default:
      return 'INTERNAL';
  }
}
