/**
 * Protocol: who leads.
 *
 * Every candidate has one node `n-<uuid>-<sequence>` in the election's folder: ephemeral, so that it goes with its
 * session, and sequential, so that ZooKeeper gives the order. The smallest sequence leads; every other candidate watches
 * only the one before it, so that one leaving wakes one, not all.
 *
 * States of a candidate: outside (no node known in this session) -> waiting (has a node, is not the first) -> leading.
 *
 * Who owns what: the candidate owns its uuid and every node that carries it. ZooKeeper owns the order and the end of a
 * session. The session object owns the clock: `leading` is true only within two thirds of the session time after the
 * last answered probe was sent, hence before ZooKeeper can name another leader.
 *
 * What happens on failure:
 * - The answer to the create never comes: the node may be there and would live as long as our session, smallest perhaps,
 *   with nobody behind it. So every step begins with a list: nodes with our uuid and our session are adopted, the
 *   smallest one kept and others removed; those of an earlier session are removed.
 * - The connection ends or this process stands still: leading ends at once. The node is kept. With the connection back
 *   in the same session the candidate has its old place again, and leads again when that is the first.
 * - The session is lost: the place is lost too; the same step finds no node and takes a new place at the end.
 * - Somebody removes our node: its watch fires, the next step takes a new place.
 * - Reads may be stale (a server that lags behind): before it claims the lead, a candidate writes to its own node. Only
 *   the ensemble's majority can answer that, and the answer names the session that owns the node.
 * - close() during any of this: the loop goes on, now removing, until a list without our uuid was seen.
 *
 * Why not rest correctness on it: a leader can be stopped between looking at `leading` and acting. What it writes must
 * be checked where it is written: the epoch in the store, the version of a document.
 */
import { randomUUID } from 'node:crypto';
import { Listeners } from '../../listeners.js';
import { FirstTime } from '../../first-time.js';
import { isCandidate } from '../../limits.js';
import type { Election, ElectionNode, Subscription } from '../../registry.js';
import type { Connection } from './connection.js';
import { type QueueNode, queueOf } from './election-queue.js';
import { withFolder } from './layout.js';
import type { Part, PartContext } from './part.js';
import { ReconcileLoop } from './reconcile-loop.js';
import { codeOf, toRegistryError } from './zk-error.js';

/** Most places of a queue that are shown. */
const mostShown = 1_000;

/** One candidate. */
export class ZooKeeperElection implements Election, Part {
  readonly name: string;
  readonly candidateId: string;
  readonly #context: PartContext;
  readonly #folder: string;
  readonly #uuid = randomUUID();
  readonly #data: Buffer;
  readonly #loop: ReconcileLoop;
  readonly #listeners: Listeners<boolean>;
  readonly #gone = new FirstTime();
  #place: QueueNode | undefined;
  #session = 0n;
  #leading = false;
  #closing = false;

  constructor(context: PartContext, name: string, candidateId: string) {
    this.#context = context;
    this.name = name;
    this.candidateId = candidateId;
    this.#folder = context.layout.election(name);
    this.#data = Buffer.from(candidateId);
    this.#listeners = new Listeners(context.log);
    this.#loop = new ReconcileLoop({ what: `election ${name}`, step: (connection) => this.#step(connection), clock: context.clock, log: context.log });
  }

  get leading(): boolean {
    return this.#leading && this.#context.session.leased;
  }

  get sequence(): number | undefined {
    return this.#session === this.#context.session.sessionId ? this.#place?.sequence : undefined;
  }

  onChange(listener: (leading: boolean) => void): Subscription {
    const subscription = this.#listeners.add(listener);
    if (this.#leading) this.#listeners.call(listener, true);
    return subscription;
  }

  attach(connection: Connection | undefined): void {
    if (connection === undefined) {
      this.#set(false);
      if (this.#closing) this.#gone.happened();
    }
    this.#loop.attach(connection);
  }

  claims(path: string): boolean {
    return path.startsWith(`${this.#folder}/n-${this.#uuid}-`);
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.#set(false);
    if (!this.#context.session.connection?.open) return;
    this.#loop.poke();
    await this.#gone.promise;
  }

  async #step(connection: Connection): Promise<void> {
    const queue = await this.#list(connection);
    const own = await this.#ownNode(connection, queue.filter((node) => node.uuid === this.#uuid));
    if (this.#closing) return this.#leave(connection, own);
    if (own === undefined) {
      this.#set(false);
      await withFolder(connection, this.#folder, () => connection.create(`${this.#folder}/n-${this.#uuid}-`, this.#data, 'EPHEMERAL_SEQUENTIAL'));
      return this.#loop.poke();
    }
    this.#place = own;
    this.#session = connection.sessionId;
    const before = queue.findLast((node) => node.sequence < own.sequence);
    if (before === undefined) await this.#claim(connection, own);
    else await this.#waitFor(connection, before);
  }

  async #list(connection: Connection): Promise<QueueNode[]> {
    return queueOf(await withFolder(connection, this.#folder, () => connection.children(this.#folder)));
  }

  /** Our one node in this session, watched; whatever else carries our uuid is removed. */
  async #ownNode(connection: Connection, candidates: readonly QueueNode[]): Promise<QueueNode | undefined> {
    let own: QueueNode | undefined;
    for (const node of candidates) {
      const path = `${this.#folder}/${node.name}`;
      const stat = await connection.exists(path, own === undefined ? this.#loop.poke : undefined);
      if (stat === null) continue;
      if (own === undefined && stat.owner === connection.sessionId) own = node;
      else {
        await removeNode(connection, path);
        if (stat.owner === connection.sessionId) this.#context.onOrphan(path);
      }
    }
    return own;
  }

  async #waitFor(connection: Connection, before: QueueNode): Promise<void> {
    this.#set(false);
    try {
      // Reading sets the watch only when the node is there; asking whether it exists would leave one behind.
      await connection.get(`${this.#folder}/${before.name}`, this.#loop.poke);
    } catch (error) {
      if (codeOf(error) !== 'NO_NODE') throw error;
      this.#loop.poke();
    }
  }

  async #claim(connection: Connection, own: QueueNode): Promise<void> {
    if (this.#leading) return;
    // Writing uses up our own watch, so the next step looks at the node again; it then finds itself leading.
    const stat = await connection.set(`${this.#folder}/${own.name}`, this.#data, -1);
    if (stat.owner !== connection.sessionId) throw new Error(`node ${own.name} belongs to another session`);
    if (connection.open && !this.#closing) this.#set(true);
    this.#loop.poke();
  }

  async #leave(connection: Connection, own: QueueNode | undefined): Promise<void> {
    this.#set(false);
    if (own !== undefined) await removeNode(connection, `${this.#folder}/${own.name}`);
    this.#place = undefined;
    this.#loop.stop();
    this.#context.forget(this);
    this.#gone.happened();
  }

  #set(leading: boolean): void {
    if (this.#leading === leading) return;
    this.#leading = leading;
    this.#listeners.emit(leading);
  }
}

/** The queue with the candidates' ids, as far as they can be read. */
export async function readQueue(context: PartContext, name: string): Promise<ElectionNode[]> {
  const folder = context.layout.election(name);
  try {
    const connection = context.session.require();
    const nodes = queueOf(await connection.children(folder)).slice(0, mostShown);
    const read = nodes.map(async ({ name: node, sequence }) => {
      const { data } = await connection.get(`${folder}/${node}`);
      const candidateId = data.toString();
      return [{ candidateId: isCandidate(candidateId) ? candidateId : '', sequence }];
    });
    const found = await Promise.all(read.map((one) => one.catch((error: unknown) => noneIfGone(error))));
    return found.flat();
  } catch (error) {
    if (codeOf(error) === 'NO_NODE') return [];
    throw toRegistryError(error);
  }
}

function noneIfGone(error: unknown): [] {
  if (codeOf(error) === 'NO_NODE') return [];
  throw error;
}

async function removeNode(connection: Connection, path: string): Promise<void> {
  await connection.remove(path).catch((error: unknown) => {
    if (codeOf(error) !== 'NO_NODE') throw error;
  });
}
