import { LtsError } from '../../errors/lts-error.js';
import { checkDocumentSize, checkExpected } from '../limits.js';
import type { DocumentValue, RegistryDocument, Subscription } from '../registry.js';
import type { LocalRegistryHub } from './local-hub.js';

/** A document of the hub, seen through one session. */
export class LocalDocument implements RegistryDocument {
  readonly path: string;
  readonly #hub: LocalRegistryHub;
  readonly #requireGood: () => void;
  readonly #watch: RegistryDocument['watch'];

  /** `requireGood` throws REGISTRY_UNAVAILABLE while the session does not answer. */
  constructor(hub: LocalRegistryHub, path: string, requireGood: () => void, watch: RegistryDocument['watch']) {
    this.#hub = hub;
    this.path = path;
    this.#requireGood = requireGood;
    this.#watch = watch;
  }

  async read(): Promise<DocumentValue | null> {
    this.#requireGood();
    return this.#hub.document(this.path);
  }

  async write(data: Uint8Array, expected: number | 'create'): Promise<number> {
    checkDocumentSize(this.path, data);
    checkExpected(this.path, expected);
    this.#requireGood();
    const current = this.#hub.document(this.path)?.version ?? 'create';
    if (current !== expected) throw new LtsError('VERSION_CONFLICT', `document ${this.path} has version ${current}, expected ${expected}: read again`);
    const version = current === 'create' ? 1 : current + 1;
    this.#hub.putDocument(this.path, { data: Uint8Array.from(data), version });
    return version;
  }

  watch(listener: (value: DocumentValue | null) => void): Subscription {
    return this.#watch(listener);
  }
}
