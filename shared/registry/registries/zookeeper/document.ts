import { LtsError } from '../../../errors/lts-error.js';
import { checkDocumentSize, checkExpected, maxDocumentBytes } from '../../limits.js';
import type { DocumentValue, RegistryDocument, Subscription } from '../../registry.js';
import type { Connection } from './connection.js';
import { ensurePath, parentOf } from './layout.js';
import type { Part, PartContext } from './part.js';
import { ReconcileLoop } from './reconcile-loop.js';
import { codeOf, toRegistryError } from './zk-error.js';

/** A document in its own persistent node. Its version is the node's, which is 1 from the beginning. */
export class ZooKeeperDocument implements RegistryDocument {
  readonly path: string;
  readonly #node: string;
  readonly #context: PartContext;
  readonly #watch: (watch: DocumentWatch) => Subscription;

  constructor(context: PartContext, path: string, watch: (watch: DocumentWatch) => Subscription) {
    this.#context = context;
    this.path = path;
    this.#node = context.layout.document(path);
    this.#watch = watch;
  }

  async read(): Promise<DocumentValue | null> {
    try {
      const { data, stat } = await this.#context.session.require().get(this.#node);
      return stat.version === 0 ? null : { data: bounded(data), version: stat.version };
    } catch (error) {
      if (codeOf(error) === 'NO_NODE') return null;
      throw toRegistryError(error);
    }
  }

  async write(data: Uint8Array, expected: number | 'create'): Promise<number> {
    checkDocumentSize(this.path, data);
    checkExpected(this.path, expected);
    const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    const connection = this.#context.session.require();
    try {
      if (expected === 'create') return await this.#create(connection, bytes);
      return (await connection.set(this.#node, bytes, expected)).version;
    } catch (error) {
      if (codeOf(error) === 'NODE_EXISTS' || codeOf(error) === 'BAD_VERSION' || codeOf(error) === 'NO_NODE')
        throw new LtsError('VERSION_CONFLICT', `document ${this.path} is not as expected (${expected}): read again`, { cause: error });
      throw toRegistryError(error);
    }
  }

  watch(listener: (value: DocumentValue | null) => void): Subscription {
    return this.#watch(new DocumentWatch(this.#context, this.#node, listener));
  }

  async #create(connection: Connection, data: Buffer): Promise<number> {
    try {
      await connection.createAtOne(this.#node, data);
    } catch (error) {
      if (codeOf(error) !== 'NO_NODE') throw error;
      await ensurePath(connection, parentOf(this.#node));
      await connection.createAtOne(this.#node, data);
    }
    return 1;
  }
}

/** Tells one listener of the changes of one document. Costs one watch of the server. */
export class DocumentWatch implements Part {
  readonly #context: PartContext;
  readonly #node: string;
  readonly #listener: (value: DocumentValue | null) => void;
  readonly #loop: ReconcileLoop;
  #shown: string | undefined;
  #closed = false;

  constructor(context: PartContext, node: string, listener: (value: DocumentValue | null) => void) {
    this.#context = context;
    this.#node = node;
    this.#listener = listener;
    this.#loop = new ReconcileLoop({ what: `document ${node}`, step: (connection) => this.#step(connection), clock: context.clock, log: context.log });
  }

  attach(connection: Connection | undefined): void {
    this.#loop.attach(connection);
  }

  stop(): void {
    this.#closed = true;
    this.#loop.stop();
  }

  async #step(connection: Connection): Promise<void> {
    try {
      const { data, stat } = await connection.get(this.#node, this.#loop.poke);
      if (connection.open && stat.version > 0) this.#show(`${stat.created} ${stat.version}`, { data: bounded(data), version: stat.version });
    } catch (error) {
      if (codeOf(error) !== 'NO_NODE') throw error;
      // It may have come since: then that is a change that the watch on the missing node does not tell.
      if ((await connection.exists(this.#node, this.#loop.poke)) !== null) return this.#loop.poke();
      if (connection.open) this.#show('none', null);
    }
  }

  #show(print: string, value: DocumentValue | null): void {
    if (this.#closed || this.#shown === print) return;
    this.#shown = print;
    try {
      this.#listener(value);
    } catch (error) {
      this.#context.log.error('registry.failed', { what: 'a listener threw', error });
    }
  }
}

/** Whoever reads it finds it unreadable and writes it anew; refused here, it would stand in the way for ever. */
function bounded(data: Uint8Array): Uint8Array {
  return data.byteLength > maxDocumentBytes ? new Uint8Array() : data;
}
