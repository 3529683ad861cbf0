import { type ClientDuplexStream, credentials } from '@grpc/grpc-js';
import { rawContract } from '../../../shared/grpc/contract.js';
import type { WorkRequest } from '../../../shared/grpc/generated/lts/v1/WorkRequest.js';
import type { WorkResponse__Output } from '../../../shared/grpc/generated/lts/v1/WorkResponse.js';
import { clientOptions } from '../../../shared/grpc/options.js';

/** An open Work call. Jobs in it are bytes. */
export interface WorkCall {
  stream: ClientDuplexStream<WorkRequest, WorkResponse__Output>;
  /** Ends the call, if it has not ended, and its connection. */
  close(): void;
}

/** Opens a Work call to a tracker, on a connection of its own: a connection that hangs is given up with its call. */
export function openWorkCall(address: string): WorkCall {
  const client = new rawContract.WorkerService(address, credentials.createInsecure(), { ...clientOptions, 'grpc.use_local_subchannel_pool': 1 });
  const stream = client.Work();
  return {
    stream,
    close: () => {
      stream.cancel();
      client.close();
    },
  };
}
