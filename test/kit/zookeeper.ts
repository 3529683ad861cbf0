import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from './eventually.js';
import { lastingPort } from './ports.js';

const jar = '/usr/share/java/zookeeper.jar';

/** What is missing to run a real ZooKeeper here, with the command that brings it; undefined when nothing is. */
export function zookeeperMissing(): string | undefined {
  if (spawnSync('java', ['-version'], { stdio: 'ignore' }).error) return 'java is not on the PATH: apt-get install default-jre-headless';
  if (!existsSync(jar)) return `${jar} is not there: apt-get install zookeeper`;
  return undefined;
}

/** Whether a real ZooKeeper can be run here. Throws, naming what is missing, when `orThrow`. */
export function zookeeperAvailable(orThrow = false): boolean {
  const missing = zookeeperMissing();
  if (missing !== undefined && orThrow) throw new Error(`no real ZooKeeper can be started: ${missing}`);
  return missing === undefined;
}

export interface ZooKeeperServerOptions {
  /** Unit of time of the server, in milliseconds: sessions have 2 to 20 of it. Default 250. */
  tickMs?: number;
}

/** A real ZooKeeper server of its own, on 127.0.0.1, with its data in a temporary folder. */
export class ZooKeeperServer {
  readonly port: number;
  readonly #folder: string;
  /** Its number in its ensemble. */
  readonly #id: number | undefined;
  #process: ChildProcess | undefined;
  #output = '';

  private constructor(port: number, folder: string, id: number | undefined) {
    this.port = port;
    this.#folder = folder;
    this.#id = id;
  }

  /** Starts one and waits until it serves. */
  static async start(options: ZooKeeperServerOptions = {}): Promise<ZooKeeperServer> {
    const server = await ZooKeeperServer.#prepare(await lastingPort(), options);
    await server.restart();
    return server;
  }

  /** Starts several that form one ensemble and waits until they serve. */
  static async startEnsemble(count: number, options: ZooKeeperServerOptions = {}): Promise<ZooKeeperServer[]> {
    const peers: string[] = ['initLimit=20', 'syncLimit=8'];
    for (let id = 1; id <= count; id++) peers.push(`server.${id}=127.0.0.1:${await lastingPort()}:${await lastingPort()}`);
    const servers: ZooKeeperServer[] = [];
    for (let id = 1; id <= count; id++) servers.push(await ZooKeeperServer.#prepare(await lastingPort(), options, peers, id));
    await Promise.all(servers.map((server) => server.restart()));
    return servers;
  }

  static async #prepare(port: number, options: ZooKeeperServerOptions, peers: string[] = [], id?: number): Promise<ZooKeeperServer> {
    zookeeperAvailable(true);
    const folder = await mkdtemp(join(tmpdir(), 'lts-zookeeper-'));
    const lines = [
      `tickTime=${options.tickMs ?? 250}`,
      `dataDir=${join(folder, 'data')}`,
      `clientPort=${port}`,
      'clientPortAddress=127.0.0.1',
      'admin.enableServer=false',
      '4lw.commands.whitelist=srvr,mntr,cons,wchs',
      'maxClientCnxns=0',
      ...peers,
    ];
    await writeFile(join(folder, 'zoo.cfg'), `${lines.join('\n')}\n`);
    return new ZooKeeperServer(port, folder, id);
  }

  get connect(): string {
    return `127.0.0.1:${this.port}`;
  }

  get pid(): number {
    if (this.#process?.pid === undefined) throw new Error('ZooKeeper does not run');
    return this.#process.pid;
  }

  /** Starts the process on the same port with the same data, when it does not run. */
  async restart(): Promise<void> {
    if (this.#process !== undefined) return;
    await mkdir(join(this.#folder, 'data'), { recursive: true });
    if (this.#id !== undefined) await writeFile(join(this.#folder, 'data', 'myid'), `${this.#id}`);
    const flags = ['-Xmx128m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-XX:-UsePerfData', '-Dzookeeper.jmx.log4j.disable=true', '-Dzookeeper.forceSync=no'];
    const child = spawn('java', [...flags, '-cp', jar, 'org.apache.zookeeper.server.quorum.QuorumPeerMain', join(this.#folder, 'zoo.cfg')], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#process = child;
    const atExit = (): void => void child.kill('SIGKILL');
    process.once('exit', atExit);
    child.once('exit', () => process.off('exit', atExit));
    const keep = (text: Buffer): void => {
      this.#output = (this.#output + text.toString()).slice(-4_000);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    const up = await eventually(async () => child.exitCode !== null || child.signalCode !== null || (await answers(this.port)), {
      withinMs: 40_000,
      everyMs: 50,
      what: 'ZooKeeper serves',
    }).catch(() => false);
    if (up && child.exitCode === null && child.signalCode === null) return;
    await this.kill();
    throw new Error(`ZooKeeper did not start on port ${this.port}: ${this.#output}`);
  }

  /** What the server says of itself: `srvr`, `mntr`, `cons` (its connections) or `wchs` (its watches in short). */
  tell(word: 'srvr' | 'mntr' | 'cons' | 'wchs'): Promise<string> {
    return new Promise((resolve, reject) => {
      let text = '';
      const socket = connect(this.port, '127.0.0.1', () => socket.write(word));
      socket.setTimeout(2_000, () => socket.destroy(new Error(`ZooKeeper did not answer ${word} within 2 s`)));
      socket.on('data', (part) => (text += part.toString()));
      socket.on('error', reject);
      socket.on('end', () => resolve(text));
    });
  }

  /** How many writes it has taken since its epoch began: sessions, nodes and data, by its own counter. */
  async writes(): Promise<number> {
    const zxid = /Zxid: 0x([0-9a-f]+)/.exec(await this.tell('srvr'))?.[1];
    if (zxid === undefined) throw new Error('ZooKeeper tells no Zxid');
    return Number(BigInt(`0x${zxid}`) & 0xffff_ffffn);
  }

  /** The process stands still (SIGSTOP): connections stay open, nothing is answered. */
  pause(): void {
    process.kill(this.pid, 'SIGSTOP');
  }

  /** It goes on (SIGCONT). */
  resume(): void {
    process.kill(this.pid, 'SIGCONT');
  }

  /** The process ends at once; its data stays. */
  async kill(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await gone;
  }

  /** Removes its data while it does not run. */
  async wipe(): Promise<void> {
    await rm(join(this.#folder, 'data'), { recursive: true, force: true });
  }

  /** Ends it and removes its data. */
  async stop(): Promise<void> {
    await this.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** Whether a server takes a session there: its port opens before it can. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const done = (result: boolean): void => {
      socket.destroy();
      resolve(result);
    };
    socket.setTimeout(1_000, () => done(false));
    socket.on('error', () => done(false));
    socket.on('close', () => done(false));
    socket.on('data', () => done(true));
    // A handshake for a session that nobody has: a server that serves answers that it has expired.
    const request = Buffer.alloc(4 + 44);
    request.writeInt32BE(44, 0);
    request.writeInt32BE(4_000, 16);
    request.writeInt32BE(1, 20);
    request.writeInt32BE(1, 24);
    request.writeInt32BE(16, 28);
    socket.on('connect', () => socket.write(request));
  });
}
