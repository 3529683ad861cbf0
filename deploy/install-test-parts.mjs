// Sees to it that the real parts which the tests start are on this machine: ZooKeeper, PostgreSQL, PgBouncer, Redis, Python with gRPC, systemd-analyze.
// Installs what is missing where that is possible (root on a Debian-like system), else says what to do and exits with 1.
// Nothing is started as a system service: every test starts its own copy on a free port.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const onPath = (name) => (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, name)));
const anyServer = (folder) => existsSync(folder) && readdirSync(folder).some((version) => existsSync(join(folder, version, 'bin/initdb')));

/** What is needed, how it is recognised, which package of Debian and Ubuntu brings it, and the system services of that package. */
const parts = [
  { what: 'a Java runtime (java)', present: () => onPath('java'), pkg: 'default-jre-headless', services: [] },
  { what: 'ZooKeeper (/usr/share/java/zookeeper.jar)', present: () => existsSync('/usr/share/java/zookeeper.jar'), pkg: 'zookeeper', services: [] },
  { what: 'PostgreSQL (/usr/lib/postgresql/*/bin/initdb)', present: () => anyServer('/usr/lib/postgresql'), pkg: 'postgresql', services: ['postgresql'] },
  { what: 'PgBouncer (pgbouncer)', present: () => onPath('pgbouncer') || existsSync('/usr/sbin/pgbouncer'), pkg: 'pgbouncer', services: ['pgbouncer'] },
  { what: 'Redis (redis-server)', present: () => onPath('redis-server'), pkg: 'redis-server', services: ['redis-server'] },
  { what: 'a library that sets the clock of one process (faketime)', present: () => onPath('faketime'), pkg: 'faketime', services: [] },
  { what: 'gRPC for /usr/bin/python3', present: () => existsSync('/usr/lib/python3/dist-packages/grpc'), pkg: 'python3-grpcio', services: [] },
  {
    what: 'protobuf for /usr/bin/python3',
    present: () => existsSync('/usr/lib/python3/dist-packages/google/protobuf'),
    pkg: 'python3-protobuf',
    services: [],
  },
  { what: 'the protobuf compiler (protoc)', present: () => onPath('protoc'), pkg: 'protobuf-compiler', services: [] },
  { what: 'the checker of systemd units (systemd-analyze)', present: () => onPath('systemd-analyze'), pkg: 'systemd', services: [] },
  {
    what: 'its gRPC plugins (grpc_python_plugin)',
    present: () => onPath('grpc_python_plugin'),
    pkg: 'protobuf-compiler-grpc',
    services: [],
  },
  {
    what: 'a wall clock for a process of its own (faketime)',
    present: () => ['x86_64', 'aarch64'].some((cpu) => existsSync(`/usr/lib/${cpu}-linux-gnu/faketime/libfaketimeMT.so.1`)),
    pkg: 'faketime',
    services: [],
  },
];

const policyFile = '/usr/sbin/policy-rc.d';

/**
 * Runs `work` while no package may start a service. 101 is the policy's word for "not allowed". A policy that is there
 * already is somebody's decision and stays as it is.
 */
function withoutServices(work) {
  const ours = !existsSync(policyFile);
  const remove = () => ours && rmSync(policyFile, { force: true });
  const interrupted = () => {
    remove();
    process.exit(1);
  };
  if (ours) {
    writeFileSync(policyFile, '#!/bin/sh\nexit 101\n');
    chmodSync(policyFile, 0o755);
  }
  process.once('SIGINT', interrupted);
  process.once('SIGTERM', interrupted);
  try {
    work();
  } finally {
    remove();
    process.off('SIGINT', interrupted);
    process.off('SIGTERM', interrupted);
  }
}

const run = (command, args) => {
  const { status, error } = spawnSync(command, args, {
    stdio: ['ignore', 2, 2],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  });
  return error === undefined && status === 0;
};

/** What would start a fresh service at the next boot is switched off, unless something enabled or started it before us. */
function keepServicesOff(services) {
  if (!existsSync('/run/systemd/system')) return;
  for (const service of services) run('systemctl', ['disable', '--now', service]);
}

function install(missing) {
  const packages = missing.map((part) => part.pkg);
  process.stderr.write(`installing for the tests: ${packages.join(' ')}\n`);
  withoutServices(() => {
    if (!run('apt-get', ['update', '-q'])) process.stderr.write('apt-get update failed; going on with the lists that are here\n');
    run('apt-get', ['install', '-y', '-q', '--no-install-recommends', ...packages]);
  });
  keepServicesOff(missing.flatMap((part) => part.services));
}

function reasonNotToInstall() {
  if (process.platform !== 'linux' || !onPath('apt-get')) return 'this is not a Debian-like system (no apt-get)';
  return process.getuid() === 0 ? undefined : 'this user is not root';
}

let missing = parts.filter((part) => !part.present());
const reason = reasonNotToInstall();
if (missing.length > 0 && reason === undefined) {
  install(missing);
  missing = missing.filter((part) => !part.present());
}
if (missing.length > 0) {
  const packages = missing.map((part) => part.pkg).join(' ');
  process.stderr.write(
    [
      'The tests use real servers. Missing here:',
      ...missing.map((part) => `  ${part.what}: package ${part.pkg}`),
      reason === undefined ? 'apt-get did not install them (see above).' : `They were not installed: ${reason}.`,
      `Get them with:  sudo apt-get install --no-install-recommends ${packages}`,
      'or run only what needs none of them:  npm run test:unit',
      '',
    ].join('\n'),
  );
  process.exit(1);
}
