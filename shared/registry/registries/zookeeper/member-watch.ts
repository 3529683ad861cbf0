import { messageOf } from '../../../errors/lts-error.js';
import { maxMembers } from '../../limits.js';
import { Listeners } from '../../listeners.js';
import { compareMembers, decodeMember } from '../../member-codec.js';
import type { Member, MemberKind, Subscription } from '../../registry.js';
import type { Connection } from './connection.js';
import { withFolder } from './layout.js';
import type { Part, PartContext } from './part.js';
import { ReconcileLoop } from './reconcile-loop.js';
import { codeOf } from './zk-error.js';

/** Many members that come at once cost a few lists, not one each: each list is as long as there are members. */
const restMs = 50;

/**
 * The live members of one kind, kept with a single watch on their folder. A node's data never changes (its name has the
 * incarnation in it), so only new names are read; all of them again in a new session.
 */
export class MemberWatch implements Part {
  readonly #context: PartContext;
  readonly #kind: MemberKind;
  readonly #loop: ReconcileLoop;
  readonly #listeners: Listeners<readonly Member[]>;
  /** By node name; null for one that is no member. */
  readonly #read = new Map<string, Member | null>();
  #session = 0n;
  #members: readonly Member[] | undefined;
  #shown = '';

  constructor(context: PartContext, kind: MemberKind) {
    this.#context = context;
    this.#kind = kind;
    this.#listeners = new Listeners(context.log);
    this.#loop = new ReconcileLoop({
      what: `members ${kind}`,
      step: (connection) => this.#step(connection),
      clock: context.clock,
      log: context.log,
      restMs,
    });
  }

  subscribe(listener: (members: readonly Member[]) => void): Subscription {
    let open = true;
    const subscription = this.#listeners.add(listener);
    queueMicrotask(() => {
      if (open && this.#members !== undefined) this.#listeners.call(listener, this.#members);
    });
    return {
      close: () => {
        open = false;
        subscription.close();
      },
    };
  }

  attach(connection: Connection | undefined): void {
    this.#loop.attach(connection);
  }

  stop(): void {
    this.#loop.stop();
  }

  async #step(connection: Connection): Promise<void> {
    if (this.#session !== connection.sessionId) this.#read.clear();
    this.#session = connection.sessionId;
    const folder = this.#context.layout.members(this.#kind);
    const found = await withFolder(connection, folder, () => connection.children(folder, this.#loop.poke));
    if (found.length > maxMembers) this.#context.log.warn('registry.failed', { what: `members ${this.#kind}`, found: found.length, read: maxMembers });
    const names = new Set(found.slice(0, maxMembers));
    for (const name of this.#read.keys()) if (!names.has(name)) this.#read.delete(name);
    await Promise.all([...names].filter((name) => !this.#read.has(name)).map((name) => this.#readOne(connection, folder, name)));
    if (connection.open) this.#show();
  }

  async #readOne(connection: Connection, folder: string, name: string): Promise<void> {
    try {
      const { data } = await connection.get(`${folder}/${name}`);
      this.#read.set(name, this.#decode(name, data));
    } catch (error) {
      // Gone since the list was read: the watch has fired, or will.
      if (codeOf(error) !== 'NO_NODE') throw error;
    }
  }

  #decode(name: string, data: Buffer): Member | null {
    try {
      const member = decodeMember(data);
      if (member.kind === this.#kind) return member;
      this.#context.log.warn('registry.failed', { what: `members ${this.#kind}`, node: name.slice(0, 200), problem: `is a ${member.kind}` });
    } catch (error) {
      this.#context.log.warn('registry.failed', { what: `members ${this.#kind}`, node: name.slice(0, 200), problem: messageOf(error) });
    }
    return null;
  }

  #show(): void {
    const members = [...this.#read.values()].filter((member) => member !== null).toSorted(compareMembers);
    const shown = JSON.stringify(members);
    if (this.#members !== undefined && shown === this.#shown) return;
    this.#shown = shown;
    this.#members = members;
    this.#listeners.emit(members);
  }
}
