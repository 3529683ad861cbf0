// Makes what is derived from proto/: TypeScript types and the descriptors that reflection serves.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const run = (command, args) =>
  execFileSync(join(root, 'node_modules/.bin', command), args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });

const files = readdirSync(join(root, 'proto/lts/v1')).filter((name) => name.endsWith('.proto')).map((name) => `lts/v1/${name}`);
mkdirSync(join(root, 'dist/descriptors'), { recursive: true });
// The options are those of shared/grpc/contract.ts: what is generated is what is loaded.
run('proto-loader-gen-types', [
  '--longs=Number', '--enums=String', '--defaults', '--oneofs', '--keepCase', '--includeComments', '--grpcLib=@grpc/grpc-js',
  '--outDir=shared/grpc/generated', '--targetFileExtension=.ts', '--importFileExtension=.js', '--includeDirs=proto',
  '--', ...files,
]);
run('buf', ['build', 'proto', '-o', 'dist/descriptors/lts.binpb']);
run('buf', ['build', 'node_modules/grpc-health-check/proto', '-o', 'dist/descriptors/health.binpb']);
