import type { Database } from 'better-sqlite3';
import type { WorkerIdentity } from '../../queue-store.js';

/** `worker.used_at` is moved on after so long, so that a purge sees who is still used. */
const touchMs = 86_400_000;

/** Worker names that are kept in memory at most. */
const mostWorkers = 10_000;

/**
 * Names stored once, with the small numbers that rows hold instead. Used inside transactions; after a rollback the
 * owner clears it, as it may know numbers that were never stored.
 */
export class Names {
  readonly #groups = new Map<string, number>();
  readonly #groupNames = new Map<number, string>();
  readonly #clients = new Map<string, number>();
  readonly #clientNames = new Map<number, string>();
  readonly #workers = new Map<string, { id: number; usedAt: number }>();
  readonly #sql;

  constructor(db: Database) {
    this.#sql = {
      findGroup: db.prepare<[string], number>('SELECT group_id FROM node_group WHERE name = ?').pluck(),
      addGroup: db.prepare('INSERT INTO node_group (name, part) VALUES (?, ?)'),
      groupName: db.prepare<[number], string>('SELECT name FROM node_group WHERE group_id = ?').pluck(),
      findClient: db.prepare<[string], number>('SELECT client_id FROM client_group WHERE name = ?').pluck(),
      addClient: db.prepare('INSERT INTO client_group (name) VALUES (?)'),
      clientName: db.prepare<[number], string>('SELECT name FROM client_group WHERE client_id = ?').pluck(),
      useWorker: db.prepare<[string, string, number], number>(
        `INSERT INTO worker (node_id, incarnation, used_at) VALUES (?, ?, ?)
         ON CONFLICT (node_id, incarnation) DO UPDATE SET used_at = max(used_at, excluded.used_at) RETURNING worker_id`,
      ).pluck(),
    };
  }

  /** The number of a node group; a new one is stored with its partition. */
  group(name: string, partition: number): number {
    return this.#groups.get(name) ?? this.#keepGroup(this.#sql.findGroup.get(name) ?? Number(this.#sql.addGroup.run(name, partition).lastInsertRowid), name);
  }

  /** The number of a node group; undefined when it is not known. */
  knownGroup(name: string): number | undefined {
    const known = this.#groups.get(name) ?? this.#sql.findGroup.get(name);
    return known === undefined ? undefined : this.#keepGroup(known, name);
  }

  groupName(id: number): string {
    const name = this.#groupNames.get(id) ?? this.#sql.groupName.get(id) ?? '';
    this.#keepGroup(id, name);
    return name;
  }

  /** The number of a JobClient group. */
  client(name: string): number {
    let id = this.#clients.get(name);
    if (id !== undefined) return id;
    id = this.#sql.findClient.get(name) ?? Number(this.#sql.addClient.run(name).lastInsertRowid);
    this.#clients.set(name, id);
    this.#clientNames.set(id, name);
    return id;
  }

  clientName(id: number): string {
    let name = this.#clientNames.get(id);
    if (name !== undefined) return name;
    name = this.#sql.clientName.get(id) ?? '';
    this.#clientNames.set(id, name);
    return name;
  }

  /** The number of a worker that gets or ends an attempt at `at`. */
  worker(worker: WorkerIdentity, at: number): number {
    const key = `${worker.nodeId}\0${worker.incarnation}`;
    const known = this.#workers.get(key);
    if (known !== undefined && at - known.usedAt < touchMs) return known.id;
    const id = this.#sql.useWorker.get(worker.nodeId, worker.incarnation, at) as number;
    if (this.#workers.size >= mostWorkers) this.#workers.clear();
    this.#workers.set(key, { id, usedAt: at });
    return id;
  }

  clear(): void {
    for (const map of [this.#groups, this.#groupNames, this.#clients, this.#clientNames, this.#workers]) map.clear();
  }

  #keepGroup(id: number, name: string): number {
    this.#groups.set(name, id);
    this.#groupNames.set(id, name);
    return id;
  }
}
