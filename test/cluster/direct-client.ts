import { credentials } from '@grpc/grpc-js';
import { LtsError } from '../../shared/errors/lts-error.js';
import { fromGrpcError } from '../../shared/errors/grpc-status.js';
import { contract } from '../../shared/grpc/contract.js';
import type { Job } from '../../shared/grpc/generated/lts/v1/Job.js';
import type { SubmitResult__Output } from '../../shared/grpc/generated/lts/v1/SubmitResult.js';
import { clientOptions } from '../../shared/grpc/options.js';

const connectWithinMs = 10_000;

/** Calls exactly one tracker over one connection, and follows nothing. */
export class DirectClient {
  readonly #client: InstanceType<typeof contract.JobService>;

  private constructor(address: string) {
    // A tracker that stands still must not be taken for dead.
    this.#client = new contract.JobService(address, credentials.createInsecure(), { ...clientOptions, 'grpc.use_local_subchannel_pool': 1, 'grpc.keepalive_time_ms': 300_000 });
  }

  /** Resolves when it is connected. */
  static async connect(address: string): Promise<DirectClient> {
    const direct = new DirectClient(address);
    await new Promise<void>((resolve, reject) => {
      direct.#client.waitForReady(Date.now() + connectWithinMs, (error) => (error === undefined ? resolve() : reject(error)));
    });
    return direct;
  }

  /** Submits one job, once. Gives the outcome, or the LtsError of the call. */
  submit(job: Job, withinMs = 40_000): Promise<SubmitResult__Output | LtsError> {
    return new Promise((resolve) => {
      this.#client.submitJob({ job }, { deadline: Date.now() + withinMs }, (error, response) => {
        if (error !== null) resolve(fromGrpcError(error));
        else resolve(response?.result ?? new LtsError('INTERNAL', 'SubmitJob gave no result'));
      });
    });
  }

  close(): void {
    this.#client.close();
  }
}
