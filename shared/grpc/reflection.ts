import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Server } from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
import type { PackageDefinition } from '@grpc/proto-loader';
import type protobuf from 'protobufjs';
import descriptorModule from 'protobufjs/ext/descriptor/index.js';
import { packageRoot } from '../package-root.js';

/** The module's own typings do not name the two types that it exports at run time. */
const descriptor = descriptorModule as unknown as { FileDescriptorSet: protobuf.Type; FileDescriptorProto: protobuf.Type };

/**
 * Adds reflection for these services. It is fed with the descriptors that buf built: those that protobufjs makes
 * again from its own types have wrong names for map entries, and strict clients reject them.
 */
export function addReflection(server: Server, services: readonly string[]): void {
  const files = ['lts.binpb', 'health.binpb'].flatMap((name) => {
    const set = descriptor.FileDescriptorSet.decode(readFileSync(join(packageRoot, 'dist/descriptors', name))) as unknown as { file: protobuf.Message[] };
    return set.file.map((file) => Buffer.from(descriptor.FileDescriptorProto.encode(file).finish()));
  });
  const definition = { all: { format: 'Protocol Buffer 3 DescriptorProto', type: {}, fileDescriptorProtos: files } } as unknown as PackageDefinition;
  new ReflectionService(definition, { services: [...services, 'grpc.health.v1.Health'] }).addToServer(server);
}
