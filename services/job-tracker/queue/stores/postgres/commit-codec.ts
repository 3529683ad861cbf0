import { type Alter, type CommitBatch, heldUntil, type Transition, type WorkerIdentity } from '../../queue-store.js';
import { leftCodes, outcomeCodes, stateCodes } from '../codes.js';
import { policyText } from '../policy-text.js';
import { numbersBytes } from './array-bytes.js';
import { ArrayText, numbersText } from './array-text.js';
import { Places } from './places.js';
import { WorkerPlaces } from './worker-places.js';
import { EnrollSet, FireSet } from './schedule-codec.js';

/** The batch as values of `lts.commit`; the migrations tell what the numbers of a row are. */
export const commitText = `SELECT * FROM lts.commit(${Array.from({ length: 19 }, (_, i) => `$${i + 1}`).join(', ')})`;

/** Owed results get two numbers for each transition, of 8,192 for each commit. */
export const mostTransitions = 4_095;

/** What `ends` and `hands` name is once in a round. */
interface Round {
  admits: number;
  hands: number;
  ends: number;
}

const aloneCodes = { cancelId: 1, cancelTask: 2, promote: 3, late: 4, limit: 5, enrolls: 6, fires: 7, alter: 8, release: 9, endRuns: 10 } as const;
const changeCodes: Record<Alter['change'], number> = { suspend: 1, resume: 2, next: 3, delete: 4 };

/** Turns a batch into a few arrays, which cost little to build and to parse. */
export class BatchPacker {
  readonly #groups = new Places();
  readonly #groupParts: number[] = [];
  readonly #clients = new Places();
  readonly #workers = new WorkerPlaces();
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
  /** Applied after the round. */
  #fires = new FireSet();
  /** Applied after the fires. */
  #enrolls = new EnrollSet();
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
        if (t.id === undefined) this.#single(ord, aloneCodes.cancelTask, t.partition, this.#group(t.nodeGroup, -1), t.at, t.bound?.most ?? 0, t.taskId ?? '', t.bound?.halted ? 'halted' : '');
        else this.#single(ord, aloneCodes.cancelId, t.partition, this.#group(t.nodeGroup, -1), t.at, t.as === undefined ? 0 : stateCodes[t.as.state], t.id, t.as?.message ?? '');
        return;
      case 'promote':
        // What is held is never due.
        return this.#single(ord, aloneCodes.promote, t.partition, 0, Math.min(t.now, heldUntil - 1), t.limit, '', '');
      case 'late':
        return this.#single(ord, aloneCodes.late, t.partition, 0, t.attempt, outcomeCodes[t.outcome], t.id, t.message);
      case 'limit':
        return this.#single(ord, aloneCodes.limit, t.partition, this.#group(t.nodeGroup, t.partition), 0, 0, JSON.stringify(t.limits), '');
      case 'enroll':
        return this.#enroll(t, ord);
      case 'fire':
        return this.#fire(t, ord);
      case 'alter':
        return this.#single(
          ord, aloneCodes.alter, t.partition, this.#group(t.nodeGroup, -1), t.at, changeCodes[t.change], t.taskId,
          JSON.stringify({ next: t.nextAt, version: t.version, ...t.bound }),
        );
      case 'endRuns':
        return this.#single(ord, aloneCodes.endRuns, t.partition, this.#group(t.nodeGroup, -1), t.at, leftCodes[t.by], t.taskId, String(t.most));
      case 'release':
        return this.#single(ord, aloneCodes.release, t.partition, 0, t.seq, t.at, '', '');
    }
  }

  #admit(t: Extract<Transition, { kind: 'admit' }>, ord: number): void {
    // Arrivals are numbered in the order of the batch.
    if (this.#fires.size + this.#enrolls.size > 0) this.#closeRound();
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

  #fire(t: Extract<Transition, { kind: 'fire' }>, ord: number): void {
    if (this.#enrolls.size > 0 || this.#fires.meets(t)) this.#closeRound();
    this.#fires.add(t, ord);
  }

  #enroll(t: Extract<Transition, { kind: 'enroll' }>, ord: number): void {
    if (this.#enrolls.meets(t)) this.#closeRound();
    this.#enrolls.add(t, ord, this.#group(t.nodeGroup, t.partition));
  }

  #single(ord: number, kind: number, partition: number, group: number, a: number, b: number, text: string, more: string): void {
    this.#closeRound();
    this.#pushAlone(ord, kind, partition, group, a, b, text, more);
  }

  #pushAlone(ord: number, kind: number, partition: number, group: number, a: number, b: number, text: string, more: string): void {
    this.#rounds.push(0, 0, 0);
    this.#alone.push(ord, kind, partition, group, a, b);
    this.#aloneTexts.add(text);
    this.#aloneTexts.add(more);
  }

  /**
   * The same arrival twice: the second one goes into the next round. Fires have nothing to do with arrivals that were
   * known before, so these may come first; the end of an arrival may free the task of an enroll.
   */
  #meet(seq: number): void {
    if (this.#inRound.has(seq) || this.#enrolls.size > 0) this.#closeRound();
    this.#inRound.add(seq);
  }

  #closeRound(): void {
    const { admits, hands, ends } = this.#round;
    if (admits + hands + ends > 0) this.#rounds.push(admits, hands, ends);
    this.#round = { admits: 0, hands: 0, ends: 0 };
    this.#inRound.clear();
    if (this.#fires.size > 0) this.#pushAlone(0, aloneCodes.fires, 0, 0, this.#fires.usedAt, this.#fires.most, ...this.#fires.texts());
    if (this.#enrolls.size > 0) this.#pushAlone(0, aloneCodes.enrolls, 0, 0, 0, 0, ...this.#enrolls.texts());
    this.#fires = new FireSet();
    this.#enrolls = new EnrollSet();
  }

  /** With partition -1 it is only looked up, not made. */
  #group(name: string, partition: number): number {
    const place = this.#groups.of(name);
    if (partition >= 0 || place > this.#groupParts.length) this.#groupParts[place - 1] = partition;
    return place;
  }

  #worker(worker: WorkerIdentity, at: number): number {
    if (at > this.#usedAt) this.#usedAt = at;
    return this.#workers.of(worker);
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
      this.#workers.text(),
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
