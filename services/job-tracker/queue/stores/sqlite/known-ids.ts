import { idFromBytes, idToBytes } from '../../../../../shared/ids.js';
import { ignoredCode } from '../codes.js';
import { sameJob } from '../same-job.js';
import type { WriterState } from './writer-state.js';

/** Stored in `instance.answer`: what the id was answered at first. */
export const answers = { accepted: 0, replaced: 1, duplicate: 2, scheduleAccepted: 3, scheduleReplaced: 4 } as const;

/** By that number. */
const firstAnswers = ['accepted', 'replaced', 'duplicate', 'accepted', 'replaced'] as const;

type AnsweredAgain = { result: 'conflict' } | { result: 'again'; first: (typeof firstAnswers)[number]; existingId: string };

/** The answer to an id that is stored already. */
export function answerAgain(w: WriterState, { id, job }: { id: string; job: Buffer }): AnsweredAgain {
  const known = w.sql.instanceById.get(id);
  if (known === undefined) throw new Error(`id ${id} conflicts but is not stored`);
  if (!sameJob(known.job, job)) return { result: 'conflict' };
  const first = firstAnswers[known.answer] ?? 'accepted';
  return { result: 'again', first, existingId: known.related === null ? '' : idFromBytes(known.related) };
}

/** Only an id that the client made can come again: it stays, as an ended row that is no instance. */
export function ignore(w: WriterState, { clientId, createdAt }: { clientId: boolean; createdAt: number }, seq: number, existingId: string): void {
  if (clientId) {
    w.sql.answered.run(answers.duplicate, idToBytes(existingId), seq);
    keepIdOnly(w, seq, createdAt);
  } else {
    w.sql.removeInstance.run(seq);
    w.lastSeq = seq - 1;
  }
}

/** From now on the row is there for its id alone, until it is purged. */
export function keepIdOnly(w: WriterState, seq: number, at: number): void {
  w.sql.endWaiting.run(seq, ignoredCode, at, 0, 0, 0, '', null);
}

/** The id of what was submitted. */
export function storedId(w: WriterState, seq: number): string {
  const id = w.sql.idOf.get(seq);
  if (id === undefined) throw new Error(`${seq} is in use but not stored`);
  return idFromBytes(id);
}
