import pg from 'pg';
import { eventually } from '../kit/eventually.js';
import type { ZooKeeperServer } from '../kit/zookeeper.js';
import { observerName } from './commit-order.js';
import type { LinkFault } from './link.js';
import type { Fault } from './plan.js';
import type { Topology } from './topology.js';

/** Ends a fault; resolves when the part is at work again. */
export type Heal = () => Promise<void> | void;

/** What each kind of fault does. Gives how to heal it. */
export async function inject(topology: Topology, fault: Fault): Promise<Heal> {
  const { kind, target, detail } = fault;
  if (target.includes('→')) return breakLink(topology, target, toLinkFault(fault));
  switch (kind) {
    case 'quorum-loss':
      return quorumLoss(topology, target);
    case 'crash':
      return killPostgres(topology, 'SIGQUIT');
    case 'kill-backend':
      return signalBackend(topology, detail, 'SIGKILL');
    case 'pause-backend':
      return signalBackend(topology, detail, 'SIGSTOP');
    case 'clock':
      topology.program(target).setClock(detail);
      return () => topology.program(target).setClock(0);
    case 'disk-full':
      topology.disks.get(target)?.fill(0);
      return () => topology.disks.get(target)?.free();
    case 'kill':
      return kill(topology, target);
    default:
      return pause(topology, target);
  }
}

async function kill(topology: Topology, target: string): Promise<Heal> {
  if (target === 'postgres') return killPostgres(topology, 'SIGKILL');
  const server = topology.zookeepers.get(target);
  if (server !== undefined) {
    await server.kill();
    return () => restarted(server);
  }
  const program = topology.program(target);
  await program.kill();
  return () => program.start();
}

function pause(topology: Topology, target: string): Heal {
  const pid = target === 'postgres' ? topology.postgres?.pid : (topology.zookeepers.get(target)?.pid ?? topology.program(target).pid);
  return pid === undefined ? () => undefined : stopped(pid);
}

async function quorumLoss({ zookeepers }: Topology, survivor: string): Promise<Heal> {
  const lost = [...zookeepers].flatMap(([name, server]) => (name === survivor ? [] : [server]));
  await Promise.all(lost.map((server) => server.kill()));
  return async () => void (await Promise.all(lost.map(restarted)));
}

/** On a busy machine a server may give up to find its ensemble: it is started until it does. */
async function restarted(server: ZooKeeperServer): Promise<void> {
  await eventually(() => server.restart().then(() => true), { withinMs: 180_000, everyMs: 500, what: 'ZooKeeper serves again' });
}

async function killPostgres({ postgres }: Topology, signal: NodeJS.Signals): Promise<Heal> {
  await postgres?.kill(signal);
  return () => postgres?.restart();
}

/** Signals one of the processes that serve trackers: the store's own view tells which there are. */
async function signalBackend({ postgres }: Topology, which: number, signal: 'SIGKILL' | 'SIGSTOP'): Promise<Heal> {
  const client = new pg.Client({ connectionString: postgres?.url, application_name: observerName, connectionTimeoutMillis: 2_000, query_timeout: 2_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ pid: number }>("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND application_name <> $1 ORDER BY pid", [observerName]);
    const pid = rows[which % rows.length]?.pid;
    if (pid === undefined) return () => undefined;
    if (signal === 'SIGSTOP') return stopped(pid);
    process.kill(pid, signal);
    return () => postgres?.restart();
  } finally {
    client.end().catch(() => undefined);
  }
}

function stopped(pid: number): Heal {
  process.kill(pid, 'SIGSTOP');
  return () => {
    try {
      process.kill(pid, 'SIGCONT');
    } catch {
      // It was killed meanwhile.
    }
  };
}

function breakLink(topology: Topology, name: string, fault: LinkFault): Heal {
  const part = topology.links.get(name);
  if (part === undefined) throw new Error(`there is no link ${name}`);
  const { links, caller } = part;
  const heals = links.map((link) => link.break(fault, caller && ((): number | undefined => caller.pid)));
  return () => heals.forEach((heal) => heal());
}

function toLinkFault({ kind, detail }: Fault): LinkFault {
  if (kind === 'cut' || kind === 'half-open') return { kind };
  if (kind === 'slow') return { kind, delayMs: detail };
  const ways = { up: detail !== 1, down: detail !== 0 };
  return { kind: kind === 'hold' ? 'hold' : 'swallow', ...ways };
}
