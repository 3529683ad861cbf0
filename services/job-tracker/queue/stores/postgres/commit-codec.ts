import type { CommitBatch, Transition, WorkerIdentity } from '../../queue-store.js';
import { outcomeCodes, stateCodes } from '../codes.js';
import { policyText } from '../policy-text.js';
import { numbersBytes } from './array-bytes.js';
import { ArrayText, numbersText } from './array-text.js';

/** The batch as values of `lts.commit`; 0002_transitions.sql tells what the numbers of a row are. */
export const commitText = `SELECT * FROM lts.commit(${Array.from({ length: 19 }, (_, i) => `$${i + 1}`).join(', ')})`;

/** Owed results get two numbers for each transition, of 8,192 for each commit. */
export const mostTransitions = 4_095;

/** What `ends` and `hands` name is once in a round. */
interface Round {
  admits: number;
  hands: number;
  ends: number;
}

const aloneCodes = { cancelId: 1, cancelTask: 2, promote: 3, late: 4, limit: 5 } as const;

/** Turns a batch into a few arrays, which cost little to build and to parse. */
export class BatchPacker {
  readonly #groups = new Places();
  readonly #groupParts: number[] = [];
  readonly #clients = new Places();
  readonly #workers = new Places();
  readonly #workerNames = new ArrayText();
  readonly #texts = new Places();
  readonly #rounds: number[] = [];
  readonly #admits: number[] = [];
  readonly #ids = new ArrayText();
  readonly #tasks = new ArrayText();
  readonly #jobs: Buffer[] = [];
  readonly #hands: number[] = [];
  readonly #ends: number[] = [];
  readonly #messages = new ArrayText();
  readonly #alone: number[] = [];
  readonly #aloneTexts = new ArrayText();
  readonly #inRound = new Set<number>();
  #round: Round = { admits: 0, hands: 0, ends: 0 };
  #jobBytes = 0;
  #hasMessages = false;
  #usedAt = 0;

  /**
   * The values of `commitText`.
   *
   * @param careful an admit is likely to meet an id or a task that is taken
   */
  static values(batch: CommitBatch, careful: boolean): unknown[] {
    const packer = new BatchPacker();
    batch.transitions.forEach((transition, i) => packer.#add(transition, i + 1));
    return packer.#finish(batch, careful);
  }

  #add(t: Transition, ord: number): void {
    switch (t.kind) {
      case 'admit':
        return this.#admit(t, ord);
      case 'start':
        this.#hand(t.seq, ord, t.partition, t.attempt, t.fence, this.#worker(t.worker, t.at), t.at, t.wantJob ? 1 : 0);
        return;
      case 'reassign':
        this.#hand(t.seq, ord, t.partition, t.attempt, 0, this.#worker(t.worker, t.at), t.at, 3);
        return;
      case 'finish':
        return this.#end(t, ord);
      case 'cancel':
        if (t.id !== undefined) this.#single(ord, aloneCodes.cancelId, t.partition, this.#group(t.nodeGroup, -1), t.at, 0, t.id, '');
        else this.#single(ord, aloneCodes.cancelTask, t.partition, this.#group(t.nodeGroup, -1), t.at, 0, t.taskId ?? '', '');
        return;
      case 'promote':
        return this.#single(ord, aloneCodes.promote, t.partition, 0, t.now, t.limit, '', '');
      case 'late':
        return this.#single(ord, aloneCodes.late, t.partition, 0, t.attempt, outcomeCodes[t.outcome], t.id, t.message);
      case 'limit':
        return this.#single(ord, aloneCodes.limit, t.partition, this.#group(t.nodeGroup, t.partition), 0, 0, JSON.stringify(t.limits), '');
    }
  }

  #admit(t: Extract<Transition, { kind: 'admit' }>, ord: number): void {
    const { start } = t;
    const policy = policyText(t.policy);
    this.#admits.push(
      ord, this.#group(t.nodeGroup, t.partition), t.needFeedback ? this.#clients.of(t.submitNodeGroup) : 0, this.#texts.of(t.type),
      policy === '' ? 0 : this.#texts.of(policy), t.priority, t.dueAt, t.createdAt, (t.clientId ? 1 : 0) | (t.replaceOnExist ? 4 : 0) | (t.fromFailStore ? 8 : 0),
      this.#jobBytes + 1, t.job.length, start === undefined ? -1 : start.fence, start === undefined ? 0 : this.#worker(start.worker, t.createdAt),
    );
    this.#ids.add(t.id);
    this.#tasks.add(t.taskId);
    this.#jobs.push(t.job);
    this.#jobBytes += t.job.length;
    this.#round.admits++;
  }

  #hand(seq: number, ord: number, partition: number, ...rest: [attempt: number, fence: number, worker: number, at: number, flags: number]): void {
    this.#meet(seq);
    this.#hands.push(ord, partition, seq, ...rest);
    this.#round.hands++;
  }

  #end(t: Extract<Transition, { kind: 'finish' }>, ord: number): void {
    this.#meet(t.seq);
    const { outcome, truncated, startedAt, message } = t.end;
    this.#ends.push(ord, t.partition, t.seq, t.attempt, outcomeCodes[outcome], truncated ? 1 : 0, startedAt, t.at);
    if ('state' in t.next) this.#ends.push(stateCodes[t.next.state], 0, 0, 0);
    else this.#ends.push(0, t.next.dueAt, t.next.retryTimes, t.next.lostTimes);
    this.#messages.add(message);
    if (message !== '') this.#hasMessages = true;
    this.#round.ends++;
  }

  #single(ord: number, kind: number, partition: number, group: number, a: number, b: number, text: string, more: string): void {
    this.#closeRound();
    this.#rounds.push(0, 0, 0);
    this.#alone.push(ord, kind, partition, group, a, b);
    this.#aloneTexts.add(text);
    this.#aloneTexts.add(more);
  }

  /** The same arrival twice: the second one goes into the next round. */
  #meet(seq: number): void {
    if (this.#inRound.has(seq)) this.#closeRound();
    this.#inRound.add(seq);
  }

  #closeRound(): void {
    const { admits, hands, ends } = this.#round;
    if (admits + hands + ends > 0) this.#rounds.push(admits, hands, ends);
    this.#round = { admits: 0, hands: 0, ends: 0 };
    this.#inRound.clear();
  }

  /** With partition -1 it is only looked up, not made. */
  #group(name: string, partition: number): number {
    const place = this.#groups.of(name);
    if (partition >= 0 || place > this.#groupParts.length) this.#groupParts[place - 1] = partition;
    return place;
  }

  #worker({ nodeId, incarnation }: WorkerIdentity, at: number): number {
    if (at > this.#usedAt) this.#usedAt = at;
    const known = this.#workers.size;
    const place = this.#workers.of(`${nodeId}\0${incarnation}`);
    if (place > known) {
      this.#workerNames.add(nodeId);
      this.#workerNames.add(incarnation);
    }
    return place;
  }

  #finish({ epochs }: CommitBatch, careful: boolean): unknown[] {
    this.#closeRound();
    const sorted = epochs.toSorted((a, b) => a.partition - b.partition);
    return [
      numbersText(sorted.map(({ partition }) => partition)),
      numbersText(sorted.map(({ epoch }) => epoch)),
      ArrayText.of(this.#groups.names()),
      numbersText(this.#groupParts),
      ArrayText.of(this.#clients.names()),
      this.#workerNames.text(),
      this.#usedAt,
      ArrayText.of(this.#texts.names()),
      numbersText(this.#rounds),
      numbersBytes(this.#admits),
      this.#ids.text(),
      this.#tasks.text(),
      Buffer.concat(this.#jobs, this.#jobBytes),
      numbersBytes(this.#hands),
      numbersBytes(this.#ends),
      // Of most runs there is nothing to say.
      this.#hasMessages ? this.#messages.text() : '{}',
      numbersText(this.#alone),
      this.#aloneTexts.text(),
      careful,
    ];
  }
}

/** Names that repeat, each with its place from 1. */
class Places {
  readonly #places = new Map<string, number>();

  get size(): number {
    return this.#places.size;
  }

  of(name: string): number {
    let place = this.#places.get(name);
    if (place === undefined) this.#places.set(name, (place = this.#places.size + 1));
    return place;
  }

  names(): Iterable<string> {
    return this.#places.keys();
  }
}
