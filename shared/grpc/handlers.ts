import type { sendUnaryData, ServerDuplexStream, ServerUnaryCall, ServerWritableStream } from '@grpc/grpc-js';
import { toGrpcStatus } from '../errors/grpc-status.js';
import { LtsError } from '../errors/lts-error.js';
import type { Logger } from '../log/logger.js';
import { unreadable } from './contract.js';

/** Turns functions that return or throw into gRPC handlers; nothing that they throw escapes or leaks. */
export interface Handlers {
  unary<Req, Res>(handle: (request: Req, call: ServerUnaryCall<Req, Res>) => Promise<Res> | Res): (call: ServerUnaryCall<Req, Res>, callback: sendUnaryData<Res>) => void;
  serverStream<Req, Res>(open: (call: ServerWritableStream<Req, Res>) => void): (call: ServerWritableStream<Req, Res>) => void;
  duplex<Req, Res>(open: (call: ServerDuplexStream<Req, Res>) => void): (call: ServerDuplexStream<Req, Res>) => void;
}

/** Handlers whose unknown errors go to this log. */
export function createHandlers(log: Logger): Handlers {
  const statusOf = (error: unknown, method: string): ReturnType<typeof toGrpcStatus> =>
    toGrpcStatus(error, (cause, correlationId) => log.error('rpc.failed', { method, correlationId, error: cause }));
  return {
    unary: (handle) => (call, callback) => {
      void (async () => {
        try {
          requireReadable(call.request);
          callback(null, await handle(call.request, call));
        } catch (error) {
          callback(statusOf(error, call.getPath()));
        }
      })();
    },
    serverStream: (open) => (call) => {
      try {
        requireReadable(call.request);
        open(call);
      } catch (error) {
        call.emit('error', statusOf(error, call.getPath()));
      }
    },
    duplex: (open) => (call) => {
      try {
        open(call);
      } catch (error) {
        call.emit('error', statusOf(error, call.getPath()));
      }
    },
  };
}

function requireReadable(request: unknown): void {
  if (request === unreadable) throw new LtsError('INVALID_ARGUMENT', 'the request is no message of the type that the method takes; generate the client from proto/lts/v1');
}

/** Ends a stream of a server with an error that the peer can read. */
export function failStream(call: ServerDuplexStream<never, never> | ServerWritableStream<never, never>, error: unknown, log: Logger): void {
  call.emit('error', toGrpcStatus(error, (cause, correlationId) => log.error('rpc.failed', { method: call.getPath(), correlationId, error: cause })));
}
