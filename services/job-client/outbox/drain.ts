import { status } from '@grpc/grpc-js';
import { messageOf, toLtsError } from '../../../shared/errors/lts-error.js';
import { reasons } from '../../../shared/errors/reasons.js';
import type { EntryTry, StoredEntry } from '../../../shared/failstore/entry.js';
import type { SubmitResult } from '../../../shared/grpc/generated/lts/v1/SubmitResult.js';
import type { Logger } from '../../../shared/log/logger.js';
import { backoffMs } from '../../../shared/time/backoff.js';
import type { Clock, Timer } from '../../../shared/time/clock.js';
import type { CallParts } from '../discover/call-owner.js';
import { isPassing } from '../discover/journey.js';
import type { PendingJob } from '../submit/pending-job.js';
import { sendBatch } from '../submit/send-batch.js';
import { splitKey } from './entries.js';
import type { Outbox } from './outbox.js';
import { sendCancel } from './send-cancel.js';

const batchEntries = 500;
const batchBytes = 3 * 1024 * 1024;
const cancelsAtOnce = 16;
const firstPauseMs = 50;
/** An entry that makes the scheduler fail is set apart after so many tries. */
const maxFaults = 10;
/** While there is nothing to send it looks again so seldom; it is woken when there is. */
const restMs = 30_000;

/** What one pass over the entries left undone: they wait for the next one, and so do those behind them. */
interface Pass {
  heldGroups: Set<string>;
  heldKeys: Set<string>;
  sent: number;
}

/** What became of a tried entry. */
interface Fate {
  entry: StoredEntry;
  /** `unanswered` and `full` let the group wait, `later` only the key. */
  was: 'taken' | 'unanswered' | 'full' | 'later' | 'refused';
  error: string;
}

/**
 * Empties the outbox, pass by pass in the order of arrival. A pass tries what was there at its start: what it holds back
 * gets its next chance however much arrives meanwhile. In a batch each key is there once, so entries of a key keep their
 * order. Each entry has an outcome of its own: taken → removed; refused for good → dead; a full backlog → its
 * group waits for the next pass; no answer → likewise. Passes that move nothing come at growing intervals.
 */
export class Drain {
  readonly #parts: CallParts;
  readonly #outbox: Outbox;
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #idlePasses = 0;
  /** A pass is about to begin because of wake(). */
  #woken = false;
  #closed = false;

  constructor(parts: CallParts, outbox: Outbox, log: Logger, timeoutMs: number) {
    this.#parts = parts;
    this.#outbox = outbox;
    this.#log = log;
    this.#clock = parts.clock;
    this.#timeoutMs = timeoutMs;
    this.#arm(0);
  }

  /** There is something new. While older entries wait in vain, so does it. */
  stored(): void {
    if (this.#idlePasses === 0) this.wake();
  }

  /** The world has changed: look soon. */
  wake(): void {
    this.#idlePasses = 0;
    // Only the first call of a pause sets its end: calls that come all the time must not put it off for ever.
    if (this.#running !== undefined || this.#woken) return;
    this.#woken = true;
    this.#arm(firstPauseMs);
  }

  /** Ends after the batch that is out. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    await this.#running;
  }

  #arm(delayMs: number): void {
    this.#timer?.cancel();
    if (this.#closed) return;
    this.#timer = this.#clock.after(delayMs, () => {
      this.#woken = false;
      this.#running = this.#run().finally(() => {
        this.#running = undefined;
      });
    }, { unref: true });
  }

  async #run(): Promise<void> {
    let delayMs: number;
    try {
      const sent = await this.#pass();
      const { entries, dead } = this.#outbox.store.counts;
      this.#idlePasses = sent > 0 || entries === dead ? 0 : this.#idlePasses + 1;
      delayMs = entries === dead ? restMs : sent > 0 ? 0 : backoffMs(this.#idlePasses, firstPauseMs, 10_000);
      if (entries === dead) this.#outbox.releaseAll();
      if (entries === dead && sent > 0) this.#log.info('failstore.drained', { dead });
    } catch (error) {
      this.#log.error('failstore.failed', { error });
      delayMs = backoffMs(++this.#idlePasses, 1_000, 10_000);
    }
    this.#arm(delayMs);
  }

  async #pass(): Promise<number> {
    const pass: Pass = { heldGroups: new Set(), heldKeys: new Set(), sent: 0 };
    let after = 0;
    const { entries: all, dead } = this.#outbox.store.counts;
    for (let left = all - dead; left > 0 && !this.#closed; ) {
      const entries = this.#outbox.store.pending(after, batchEntries, batchBytes);
      const last = entries.at(-1);
      if (last === undefined) break;
      after = last.seq;
      left -= entries.length;
      const batch = choose(entries, pass);
      if (batch.length === 0) await this.#clock.sleep(0);
      else this.#settle(await this.#send(batch), pass);
    }
    return pass.sent;
  }

  async #send(batch: readonly StoredEntry[]): Promise<Fate[]> {
    const submits = batch.filter((entry) => entry.kind === 'SUBMIT');
    const cancels = batch.filter((entry) => entry.kind !== 'SUBMIT');
    const fates = submits.length === 0 ? [] : await this.#sendSubmits(submits);
    for (let at = 0; at < cancels.length; at += cancelsAtOnce) {
      fates.push(...(await Promise.all(cancels.slice(at, at + cancelsAtOnce).map((entry) => this.#sendCancel(entry)))));
    }
    return fates;
  }

  async #sendSubmits(entries: readonly StoredEntry[]): Promise<Fate[]> {
    const results: (SubmitResult | undefined)[] = [];
    const sink = { settle: (index: number, result: SubmitResult): void => void (results[index] = result) };
    const jobs = entries.map((entry, index): PendingJob => ({ bytes: entry.body, ...splitKey(entry.key), instanceId: entry.id, sink, index, late: true }));
    const { why } = await sendBatch(this.#parts, jobs, this.#timeoutMs);
    return entries.map((entry, index) => {
      const result = results[index];
      if (result === undefined) return { entry, was: 'unanswered', error: why.message };
      if (result.outcome === 'SUBMIT_OUTCOME_DUPLICATE_IGNORED') this.#log.info('failstore.duplicate', { instanceId: entry.id, key: entry.key.replace('\n', '/'), waiting: result.existing_instance_id });
      if (result.outcome !== 'SUBMIT_OUTCOME_REJECTED') return { entry, was: 'taken', error: '' };
      return refusal(entry, result.code ?? status.INTERNAL, `${result.reason}: ${result.message}`);
    });
  }

  async #sendCancel(entry: StoredEntry): Promise<Fate> {
    try {
      await sendCancel(this.#parts, entry, this.#timeoutMs);
      return { entry, was: 'taken', error: '' };
    } catch (error) {
      const known = toLtsError(error);
      if (isPassing(known.reason)) return { entry, was: 'unanswered', error: known.message };
      return refusal(entry, reasons[known.reason].code, `${known.reason}: ${known.reason === 'INTERNAL' ? messageOf(known.cause) : known.message}`);
    }
  }

  #settle(fates: readonly Fate[], pass: Pass): void {
    const taken: string[] = [];
    const tries: EntryTry[] = [];
    let unanswered = 0;
    for (const { entry, was, error } of fates) {
      const { nodeGroup } = splitKey(entry.key);
      if (was === 'unanswered' || was === 'full') pass.heldGroups.add(nodeGroup);
      if (was === 'later') pass.heldKeys.add(entry.key);
      if (was !== 'unanswered') this.#outbox.release(nodeGroup);
      if (was === 'taken') taken.push(entry.id);
      // While nobody answers, one entry that says so is enough.
      else if (was !== 'unanswered' || unanswered++ === 0) tries.push({ id: entry.id, error, dead: was === 'refused' });
      if (was === 'refused') this.#log.warn('failstore.dead', { entryId: entry.id, kind: entry.kind, key: entry.key.replace('\n', '/'), why: error });
    }
    if (taken.length > 0) this.#outbox.store.remove(taken);
    if (tries.length > 0) this.#outbox.store.noteTries(tries);
    pass.sent += taken.length + tries.filter((one) => one.dead).length;
  }
}

/** Entries that may be sent now: nothing before them of the same key or of a group that waits. */
function choose(entries: readonly StoredEntry[], pass: Pass): StoredEntry[] {
  const keys = new Set<string>();
  return entries.filter((entry) => {
    if (pass.heldKeys.has(entry.key) || pass.heldGroups.has(splitKey(entry.key).nodeGroup)) return false;
    if (keys.has(entry.key)) {
      pass.heldKeys.add(entry.key);
      return false;
    }
    keys.add(entry.key);
    return true;
  });
}

function refusal(entry: StoredEntry, code: number, error: string): Fate {
  const full = code === status.RESOURCE_EXHAUSTED;
  const fault = code === status.INTERNAL || code === status.UNKNOWN || code === status.DATA_LOSS;
  return { entry, was: full ? 'full' : fault && entry.tries + 1 < maxFaults ? 'later' : 'refused', error };
}
