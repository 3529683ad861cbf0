import { join } from 'node:path';
import { type GrpcObject, loadPackageDefinition, type MethodDefinition, type ServiceDefinition } from '@grpc/grpc-js';
import { fromJSON, type Options } from '@grpc/proto-loader';
import protobuf from 'protobufjs';
import { packageRoot } from '../package-root.js';
import type { ProtoGrpcType as AdminProto } from './generated/admin_service.js';
import type { ProtoGrpcType as ClusterProto } from './generated/cluster_service.js';
import type { ProtoGrpcType as FailStoreProto } from './generated/fail_store_service.js';
import type { ProtoGrpcType as FeedbackProto } from './generated/feedback_service.js';
import type { ProtoGrpcType as JobProto } from './generated/job_service.js';
import type { ProtoGrpcType as ScheduleProto } from './generated/schedule_service.js';
import type { ProtoGrpcType as WorkerProto } from './generated/worker_service.js';

/** The same options as in deploy/generate.mjs, so that values have the generated types. */
const options: Options = { longs: Number, enums: String, defaults: true, oneofs: true, keepCase: true };

type Contract = (AdminProto & ClusterProto & FailStoreProto & FeedbackProto & JobProto & ScheduleProto & WorkerProto)['lts']['v1'];

const files = ['job_service', 'worker_service', 'feedback_service', 'cluster_service', 'admin_service', 'fail_store_service', 'schedule_service'];

function loadRoot(): protobuf.Root {
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) => join(packageRoot, 'proto', target);
  return root.loadSync(files.map((file) => `lts/v1/${file}.proto`), { keepCase: true });
}

const root = loadRoot();

/** What a server gets in place of a request whose bytes are no such message; handlers refuse it. */
export const unreadable: unique symbol = Symbol('unreadable');
/** The same for a frame of a stream. */
const unreadableFrame = { frame: 'unreadable' };

function toContract(from: protobuf.Root): Contract {
  const loaded = loadPackageDefinition(fromJSON(from.toJSON(), options)) as GrpcObject & { lts: { v1: Record<string, object> } };
  for (const value of Object.values(loaded.lts.v1)) if ('service' in value) readGently(value.service as ServiceDefinition);
  return loaded.lts.v1 as unknown as Contract;
}

/** The library answers bytes that it cannot read with INTERNAL and no reason: they go to the handler instead. */
function readGently(service: ServiceDefinition): void {
  for (const method of Object.values(service) as MethodDefinition<unknown, unknown>[]) {
    const { requestDeserialize, requestStream } = method;
    method.requestDeserialize = (bytes) => {
      try {
        return requestDeserialize(bytes);
      } catch {
        return requestStream ? unreadableFrame : unreadable;
      }
    };
  }
}

/** Clients and service definitions of the contract. */
export const contract: Contract = toContract(root);

/** Where a job is carried as its bytes: message and field. On the wire a message and bytes are the same. */
const jobFields = [
  ['SubmitJobRequest', 'job'],
  ['SubmitJobsRequest', 'jobs'],
  ['Task', 'job'],
] as const;

function rawRoot(): protobuf.Root {
  const patched = loadRoot();
  for (const [message, field] of jobFields) {
    const definition = patched.lookupType(`lts.v1.${message}`).fields[field];
    if (definition === undefined) throw new Error(`the contract has no ${message}.${field}`);
    definition.type = 'bytes';
  }
  return patched;
}

/**
 * The contract in which jobs are bytes (see Raw): who only passes jobs on does not decode them. Same wire format.
 */
export const rawContract: Contract = toContract(rawRoot());

/** A generated message type in which the job is its bytes. */
export type Raw<T> = { [K in keyof T]: K extends 'job' ? Buffer : K extends 'jobs' ? Buffer[] : T[K] };
