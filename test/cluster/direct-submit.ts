import { credentials } from '@grpc/grpc-js';
import { LtsError } from '../../shared/errors/lts-error.js';
import { fromGrpcError } from '../../shared/errors/grpc-status.js';
import { contract } from '../../shared/grpc/contract.js';
import type { Job } from '../../shared/grpc/generated/lts/v1/Job.js';
import type { SubmitResult__Output } from '../../shared/grpc/generated/lts/v1/SubmitResult.js';
import { clientOptions } from '../../shared/grpc/options.js';

/** Submits one job to exactly this tracker, once. Rejects with the LtsError of the call. */
export async function submitTo(address: string, job: Job, withinMs = 30_000): Promise<SubmitResult__Output> {
  const client = new contract.JobService(address, credentials.createInsecure(), { ...clientOptions, 'grpc.use_local_subchannel_pool': 1, 'grpc.keepalive_time_ms': 120_000 });
  try {
    return await new Promise((resolve, reject) => {
      client.submitJob({ job }, { deadline: Date.now() + withinMs, waitForReady: true } as object, (error, response) => {
        if (error !== null) reject(fromGrpcError(error));
        else if (response?.result) resolve(response.result);
        else reject(new LtsError('INTERNAL', 'SubmitJob gave no result'));
      });
    });
  } finally {
    client.close();
  }
}
