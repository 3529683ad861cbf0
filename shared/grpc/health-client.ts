import { Client, credentials, type MethodDefinition } from '@grpc/grpc-js';
import { service } from 'grpc-health-check';
import { fromGrpcError } from '../errors/grpc-status.js';
import { clientOptions } from './options.js';

const check = service['Check'] as MethodDefinition<{ service: string }, { status: string }>;

/** The status of a service by grpc.health.v1, such as SERVING. `deadline` is wall time. Rejects with an LtsError. */
export async function checkHealth(address: string, name: string, deadline: number): Promise<string> {
  const client = new Client(address, credentials.createInsecure(), clientOptions);
  try {
    return await new Promise((resolve, reject) => {
      client.makeUnaryRequest(check.path, check.requestSerialize, check.responseDeserialize, { service: name }, { deadline }, (error, answer) => {
        if (error) reject(fromGrpcError(error));
        else resolve(answer?.status ?? '');
      });
    });
  } finally {
    client.close();
  }
}
