import type { DocumentValue, ElectionNode, Member, MemberKind } from '../registry.js';

/** A place in a queue, with whose it is. */
export interface LocalNode extends ElectionNode {
  readonly owner: object;
}

/** What a registry object shows to its hub, so that tests can play faults on it. */
export interface LocalSession {
  suspend(): void;
  resume(): void;
  expire(): void;
}

/**
 * The shared state behind the local registries of one process: the counterpart of a ZooKeeper ensemble. It lives as
 * long as somebody holds it; nothing is kept on disk.
 */
export class LocalRegistryHub {
  readonly #members = new Map<object, Member>();
  readonly #queues = new Map<string, { next: number; nodes: LocalNode[] }>();
  readonly #documents = new Map<string, DocumentValue>();
  readonly #watchers = new Set<() => void>();
  #telling = false;

  /** Called in a later turn after every change of anything; changes of one turn coalesce. */
  onChange(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  putMember(owner: object, member: Member): void {
    this.#members.set(owner, member);
    this.#changed();
  }

  removeMember(owner: object): void {
    if (this.#members.delete(owner)) this.#changed();
  }

  members(kind: MemberKind): Member[] {
    return [...this.#members.values()].filter((member) => member.kind === kind);
  }

  /** Gives the owner a place at the end of the queue. */
  enqueue(name: string, owner: object, candidateId: string): LocalNode {
    const queue = this.#queues.get(name) ?? { next: 0, nodes: [] };
    this.#queues.set(name, queue);
    const node = { owner, candidateId, sequence: queue.next++ };
    queue.nodes.push(node);
    this.#changed();
    return node;
  }

  dequeue(name: string, owner: object): void {
    const queue = this.#queues.get(name);
    const at = queue?.nodes.findIndex((node) => node.owner === owner) ?? -1;
    if (at < 0) return;
    queue?.nodes.splice(at, 1);
    this.#changed();
  }

  queue(name: string): readonly LocalNode[] {
    return this.#queues.get(name)?.nodes ?? [];
  }

  document(path: string): DocumentValue | null {
    return this.#documents.get(path) ?? null;
  }

  putDocument(path: string, value: DocumentValue): void {
    this.#documents.set(path, value);
    this.#changed();
  }

  #changed(): void {
    if (this.#telling) return;
    this.#telling = true;
    queueMicrotask(() => {
      this.#telling = false;
      for (const watcher of this.#watchers) watcher();
    });
  }
}
