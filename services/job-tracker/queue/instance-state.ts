/**
 * The pure state machine of an instance. The states are those of the contract's InstanceState, without its prefix.
 *
 *   WAITING ──due──▶ READY ──start──▶ EXECUTING ──cancel──▶ CANCELLING
 *      ▲ ▲             │                 │  │                  │
 *      │ └── blocked   │cancel, replace  │  └─ result, loss ───┤
 *      └────── retry, requeue ◀──────────┘                     ▼
 *                      └──────▶ SUCCEEDED FAILED CANCELLED REPLACED LOST (final: never change)
 *
 * MISSED and DISCARDED are scheduled times that never run: they are final from the beginning, or, DISCARDED, end a run
 * that was held behind another one.
 */
export const states = ['WAITING', 'READY', 'EXECUTING', 'CANCELLING', 'SUCCEEDED', 'FAILED', 'CANCELLED', 'REPLACED', 'LOST', 'MISSED', 'DISCARDED'] as const;

/** Where an instance stands. */
export type InstanceState = (typeof states)[number];

/** How an instance can end. */
export type FinalState = 'SUCCEEDED' | 'FAILED' | 'CANCELLED' | 'REPLACED' | 'LOST' | 'MISSED' | 'DISCARDED';

/** How an attempt can end; the contract's AttemptOutcome without its prefix. */
export type AttemptOutcome = 'SUCCESS' | 'FAILED' | 'LATER' | 'EXCEPTION' | 'CANCELLED' | 'LOST' | 'INTERRUPTED';

const followers: Record<InstanceState, readonly InstanceState[]> = {
  WAITING: ['READY', 'CANCELLED', 'REPLACED', 'FAILED', 'DISCARDED'],
  READY: ['EXECUTING', 'CANCELLED', 'REPLACED', 'FAILED', 'DISCARDED'],
  EXECUTING: ['CANCELLING', 'WAITING', 'READY', 'SUCCEEDED', 'FAILED', 'LOST'],
  CANCELLING: ['SUCCEEDED', 'FAILED', 'CANCELLED'],
  SUCCEEDED: [],
  FAILED: [],
  CANCELLED: [],
  REPLACED: [],
  LOST: [],
  MISSED: [],
  DISCARDED: [],
};

/** Whether an instance in `from` may become `to`. */
export function mayFollow(from: InstanceState, to: InstanceState): boolean {
  return followers[from].includes(to);
}
