import { LtsError } from '../../../errors/lts-error.js';
import { FirstTime } from '../../first-time.js';
import { encodeMember } from '../../member-codec.js';
import type { Member, Registration } from '../../registry.js';
import type { Connection } from './connection.js';
import { withFolder, parentOf } from './layout.js';
import type { Part, PartContext } from './part.js';
import { ReconcileLoop } from './reconcile-loop.js';
import { codeOf } from './zk-error.js';

/**
 * Keeps one ephemeral node of this process in place. Its name has the incarnation in it, so after an answer that never
 * came the node is simply looked for again. A reconnect within the session changes nothing; a node of an earlier session
 * is replaced in one transaction, so that no other member ever sees it gone; one that somebody removed comes back.
 */
export class ZooKeeperRegistration implements Registration, Part {
  readonly member: Member;
  readonly loop: ReconcileLoop;
  readonly #context: PartContext;
  readonly #path: string;
  readonly #data: Buffer;
  readonly #ready = new FirstTime();
  readonly #gone = new FirstTime();
  #session = 0n;
  #closing = false;

  constructor(context: PartContext, member: Member) {
    this.#context = context;
    this.member = member;
    this.#path = context.layout.member(member);
    this.#data = encodeMember(member);
    this.loop = new ReconcileLoop({ what: `registration ${this.#path}`, step: (connection) => this.#step(connection), clock: context.clock, log: context.log });
  }

  get registered(): boolean {
    return this.#session !== 0n && this.#session === this.#context.session.sessionId;
  }

  ready(): Promise<void> {
    return this.#ready.promise;
  }

  attach(connection: Connection | undefined): void {
    if (connection === undefined && this.#closing) this.#gone.happened();
    this.loop.attach(connection);
  }

  claims(path: string): boolean {
    return path === this.#path;
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.#ready.never(new LtsError('CANCELLED', `registration of ${this.member.nodeId} was closed`));
    if (!this.#context.session.connection?.open) return;
    this.loop.poke();
    await this.#gone.promise;
  }

  async #step(connection: Connection): Promise<void> {
    if (this.#closing) return this.#leave(connection);
    const stat = await connection.exists(this.#path, this.loop.poke);
    if (stat === null) {
      await withFolder(connection, parentOf(this.#path), () => connection.create(this.#path, this.#data, 'EPHEMERAL')).catch(ignoreExisting);
      return this.loop.poke();
    }
    if (stat.owner !== connection.sessionId) {
      await connection.replaceEphemeral(this.#path, this.#data);
      return this.loop.poke();
    }
    this.#session = connection.sessionId;
    this.#ready.happened();
  }

  async #leave(connection: Connection): Promise<void> {
    this.#session = 0n;
    await connection.remove(this.#path).catch((error: unknown) => {
      if (codeOf(error) !== 'NO_NODE') throw error;
    });
    this.loop.stop();
    this.#context.forget(this);
    this.#gone.happened();
  }
}

function ignoreExisting(error: unknown): void {
  if (codeOf(error) !== 'NODE_EXISTS') throw error;
}
