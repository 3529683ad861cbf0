import type { MessagePort } from 'node:worker_threads';
import { messageOf } from '../../../../../shared/errors/lts-error.js';
import { StoreFailure } from './store-failure.js';
import type { CallMessage, ThreadMessage } from './store-thread.js';

/** Answers a call with what the work returns, or with its failure. */
export function answer(port: MessagePort, call: number, work: () => unknown, transferOf: (value: unknown) => ArrayBuffer[] = () => []): void {
  let message: ThreadMessage<never>;
  let transfer: ArrayBuffer[] = [];
  try {
    const value = work();
    message = { call, value };
    transfer = transferOf(value);
  } catch (error) {
    message = { call, failure: failureOf(error) };
  }
  port.postMessage(message, transfer);
}

/** A failure as it is sent. What is no StoreFailure is a fault of this program, with an unknown outcome. */
export function failureOf(error: unknown): { reason: StoreFailure['reason']; message: string; rolledBack: boolean } {
  if (error instanceof StoreFailure) return { reason: error.reason, message: error.message, rolledBack: error.rolledBack };
  return { reason: 'STORE_FAILED', message: messageOf(error), rolledBack: false };
}

/** The function that a call names. */
export function servedBy(served: Record<string, (...args: never[]) => unknown>, { name, args }: CallMessage): () => unknown {
  const work = served[name];
  if (work === undefined) throw new Error(`the store's thread serves no ${name}`);
  return () => work(...(args as never[]));
}
