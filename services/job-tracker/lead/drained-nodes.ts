import { z } from 'zod';
import { LtsError, toLtsError } from '../../../shared/errors/lts-error.js';
import type { Logger } from '../../../shared/log/logger.js';
import type { DocumentValue, Registry, RegistryDocument } from '../../../shared/registry/registry.js';
import type { Clock } from '../../../shared/time/clock.js';

/** A node that is to get no more work. */
export interface DrainedNode {
  nodeId: string;
  /** Set: only this process start, which is about to leave. Empty: the node, until somebody undrains it. */
  incarnation: string;
  /** Wall time in milliseconds, for display. */
  since: number;
}

/** What is read from the registry is untrusted: bounded, and checked for its form. */
const schema = z.array(z.object({ nodeId: z.string().min(1).max(128), incarnation: z.string().max(64), since: z.number().int() })).max(1_000);
const mostEntries = 1_000;
const mostTries = 10;

/**
 * The nodes that get no more work, by hand or because they are leaving: one document of the registry, so that it
 * survives restarts and every tracker follows it. A drained tracker is assigned nothing, a drained worker is sent
 * nothing; what they have ends normally. Written by compare-and-set by whichever tracker is asked.
 */
export class DrainedNodes {
  readonly #document: RegistryDocument;
  readonly #clock: Clock;
  readonly #log: Logger;
  #nodes: readonly DrainedNode[] = [];
  #known = false;

  constructor(registry: Registry, clock: Clock, log: Logger) {
    this.#document = registry.document('drained');
    this.#clock = clock;
    this.#log = log;
  }

  /** Follows the document from now on; calls at each change. */
  follow(onChange: () => void): void {
    this.#document.watch((value) => {
      this.#nodes = this.#decode(value);
      this.#known = true;
      onChange();
    });
  }

  /** Whether the document was seen. */
  get known(): boolean {
    return this.#known;
  }

  /** Those that were drained by hand. */
  get byHand(): DrainedNode[] {
    return this.#nodes.filter(({ incarnation }) => incarnation === '');
  }

  /** Whether the node was drained by hand. */
  has(nodeId: string): boolean {
    return isDrained(this.#nodes, nodeId);
  }

  /** Whether this process start is about to leave. */
  isLeaving(incarnation: string): boolean {
    return isLeaving(this.#nodes, incarnation);
  }

  /**
   * Gives whether it was not drained before. `check` throws when the node must not be added to those that are drained
   * already: what it sees is what the write replaces, so that of two drains at the same moment one sees the other.
   */
  drain(nodeId: string, check: (already: readonly DrainedNode[]) => void): Promise<boolean> {
    return this.#change((nodes) => {
      if (isDrained(nodes, nodeId)) return undefined;
      check(nodes);
      return [...nodes, this.#entry(nodeId, '')];
    });
  }

  /** Gives whether it was drained before. */
  undrain(nodeId: string): Promise<boolean> {
    return this.#change((nodes) => (isDrained(nodes, nodeId) ? nodes.filter((node) => !isByHand(node, nodeId)) : undefined));
  }

  /** This process start is about to leave. Forgets others that have left: `isAlive` tells which have not. */
  async leaving(nodeId: string, incarnation: string, isAlive: (incarnation: string) => boolean): Promise<void> {
    await this.#change((nodes) => [...nodes.filter((node) => node.incarnation === '' || isAlive(node.incarnation)), this.#entry(nodeId, incarnation)]);
  }

  #entry(nodeId: string, incarnation: string): DrainedNode {
    return { nodeId, incarnation, since: this.#clock.now() };
  }

  /** `change` gives undefined when there is nothing to change. */
  async #change(change: (nodes: DrainedNode[]) => DrainedNode[] | undefined): Promise<boolean> {
    for (let tries = 1; ; tries++) {
      const stored = await this.#document.read();
      const after = change(this.#decode(stored));
      if (after === undefined) return false;
      if (after.length > mostEntries) throw new LtsError('INVALID_ARGUMENT', `${mostEntries} nodes are drained already; undrain those that are gone`);
      try {
        await this.#document.write(Buffer.from(JSON.stringify(after)), stored?.version ?? 'create');
        return true;
      } catch (error) {
        if (toLtsError(error).reason !== 'VERSION_CONFLICT' || tries >= mostTries) throw error;
      }
    }
  }

  #decode(value: DocumentValue | null): DrainedNode[] {
    if (value === null) return [];
    try {
      return schema.parse(JSON.parse(Buffer.from(value.data).toString('utf8')));
    } catch {
      // Without the error, which would name every wrong piece of it.
      this.#log.error('registry.failed', { what: 'the document of drained nodes is not readable; nobody counts as drained' });
      return [];
    }
  }
}

/** Whether the node was drained by hand. */
export function isDrained(nodes: readonly DrainedNode[], nodeId: string): boolean {
  return nodes.some((node) => isByHand(node, nodeId));
}

/** Whether this process start is about to leave. */
export function isLeaving(nodes: readonly DrainedNode[], incarnation: string): boolean {
  return nodes.some((node) => node.incarnation === incarnation);
}

function isByHand(node: DrainedNode, nodeId: string): boolean {
  return node.nodeId === nodeId && node.incarnation === '';
}
