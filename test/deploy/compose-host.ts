import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { packageRoot } from '../../shared/package-root.js';
import { eventually } from '../kit/eventually.js';
import { freePort } from '../kit/ports.js';
import { type Postgres, startPostgres } from '../kit/postgres.js';
import { ServiceProcess } from '../kit/service-process.js';
import { ZooKeeperServer } from '../kit/zookeeper.js';
import { type ComposeFile, type ComposeService, type Image, ltsServices, readCompose, readImage, secondsOf } from './deploy-files.js';

/** A password that would break an address it were written into. */
const password = 'p@ss:w/rd?#%';

/** The services of compose.yaml as plain processes of this machine: hosts become ports of 127.0.0.1, paths folders. */
export class ComposeHost {
  readonly #folder = mkdtempSync(join(tmpdir(), 'lts-compose-'));
  readonly #image: Image = readImage();
  readonly #file: ComposeFile = readCompose({ POSTGRES_PASSWORD: password });
  readonly #addresses = new Map<string, string>();
  readonly #processes = new Map<string, ServiceProcess>();
  #zookeepers: ZooKeeperServer[] = [];
  #postgres: Postgres | undefined;

  static async start(): Promise<ComposeHost> {
    const host = new ComposeHost();
    await host.#startServers();
    for (const name of host.names) {
      const { LTS_LISTEN: listen } = host.#service(name).environment;
      if (listen !== undefined) host.#addresses.set(`${name}:${listen.split(':')[1]}`, `127.0.0.1:${await freePort()}`);
    }
    return host;
  }

  /** The services that run our image. */
  get names(): string[] {
    return ltsServices(this.#file).map(([name]) => name);
  }

  /** What these need to be healthy before they start, as far as it is ours. */
  needsOf(name: string): string[] {
    return Object.keys(this.#service(name).depends_on ?? {}).filter((needed) => this.names.includes(needed));
  }

  /** host:port of what is published. */
  get gateway(): string {
    return this.#addresses.get('job-client:7400') ?? '';
  }

  up(name: string): void {
    const { command = [] } = this.#service(name);
    const [node, main, ...more] = this.#image.entrypoint;
    if (node !== 'node' || main === undefined || this.#put(main, name) !== join(packageRoot, 'dist/services/cli/main.js')) throw new Error('the entry point is not lts');
    this.#processes.set(name, new ServiceProcess([...more, ...command], this.#environment(name)));
  }

  /** Its own health check, with its own limit of time. */
  async healthy(name: string): Promise<boolean> {
    const { test, timeout } = this.#service(name).healthcheck;
    const [, node, ...args] = test.map((word) => this.#put(word, name));
    if (node !== 'node') throw new Error(`the health check of ${name} does not run node`);
    return new Promise((resolve) => {
      const options = { env: { ...process.env, ...this.#environment(name) }, timeout: secondsOf(timeout) * 1_000 };
      execFile(process.execPath, args, options, (error) => resolve(error === null));
    });
  }

  /** Fails at once when it has ended. */
  async becomesHealthy(name: string): Promise<void> {
    const process = this.#process(name);
    const look = async (): Promise<'healthy' | 'ended' | false> => (process.ended !== undefined ? 'ended' : (await this.healthy(name)) && 'healthy');
    const state = await eventually(look, { withinMs: 60_000, everyMs: 200, what: `${name} is healthy` }).catch(() => 'not healthy');
    if (state !== 'healthy') throw new Error(`${name} is ${state}: ${process.output.slice(-2_000)}`);
  }

  /** SIGTERM; gives the exit code, and fails when it takes longer than it may. */
  down(name: string): Promise<number | null> {
    return this.#process(name).stop(secondsOf(this.#service(name).stop_grace_period) * 1_000);
  }

  async stop(): Promise<void> {
    for (const process of this.#processes.values()) process.kill();
    for (const process of this.#processes.values()) await process.exited();
    for (const server of this.#zookeepers) await server.stop();
    await this.#postgres?.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #startServers(): Promise<void> {
    this.#zookeepers = await ZooKeeperServer.startEnsemble(Object.keys(this.#file.services).filter((name) => name.startsWith('zookeeper-')).length);
    for (const [index, server] of this.#zookeepers.entries()) this.#addresses.set(`zookeeper-${index + 1}:2181`, server.connect);
    const rules = join(this.#folder, 'pg_hba.conf');
    writeFileSync(rules, 'host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n');
    chmodSync(this.#folder, 0o755);
    this.#postgres = await startPostgres({ settings: { hba_file: rules } });
    this.#addresses.set('postgres:5432', `127.0.0.1:${this.#postgres.port}`);
    const { POSTGRES_USER: user = '', POSTGRES_DB: database = '', POSTGRES_PASSWORD: secret = '' } = this.#service('postgres').environment;
    const client = new pg.Client({ connectionString: this.#postgres.url });
    await client.connect();
    await client.query(`CREATE ROLE ${user} LOGIN PASSWORD ${client.escapeLiteral(secret)}`);
    await client.query(`CREATE DATABASE ${database} OWNER ${user}`);
    await client.end();
  }

  #environment(name: string): Record<string, string> {
    const all = { ...this.#image.environment, ...this.#service(name).environment };
    return Object.fromEntries(Object.entries(all).map(([key, value]) => [key, this.#put(value, name)]));
  }

  /** The text with what is of this machine in place of hosts, ports and folders. */
  #put(text: string, name: string): string {
    if (text === '/data') return join(this.#folder, name);
    if (text.startsWith('/app/')) return join(packageRoot, text.slice('/app/'.length));
    const here = text.replace(/^0\.0\.0\.0:/, `${name}:`);
    return here.replaceAll(/[a-z]+(?:-[a-z0-9]+)*:\d+/g, (address) => this.#addresses.get(address) ?? address);
  }

  #service(name: string): ComposeService {
    const found = this.#file.services[name];
    if (found === undefined) throw new Error(`compose.yaml has no service ${name}`);
    return found;
  }

  #process(name: string): ServiceProcess {
    const found = this.#processes.get(name);
    if (found === undefined) throw new Error(`${name} was not started`);
    return found;
  }
}
