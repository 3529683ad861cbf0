import { nextTick } from 'node:process';
import type { Random } from './random.js';
import { TraceHash } from './trace-hash.js';

/** Something that will happen, unless it is cancelled or its process is dead by then. */
interface Event {
  at: number;
  /** Order of events of the same moment. */
  tie: number;
  order: number;
  what: string;
  process: Process | undefined;
  run: (() => void) | undefined;
}

/** A process of the simulated system: it dies, and it stands still for a while. */
export class Process {
  readonly name: string;
  /** The machine or node that it stands for, over restarts. */
  readonly host: string;
  alive = true;
  paused = false;
  readonly held: Event[] = [];

  constructor(name: string, host: string) {
    this.name = name;
    this.host = host;
  }
}

/** Gives each event its time so that none overtakes an earlier one. */
export class Queue {
  readonly #scheduler: Scheduler;
  #lastAt = 0;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  /** After so long, but behind all that were given before. */
  after(delayMs: number, what: string, run: () => void, process?: Process): Scheduled {
    this.#lastAt = Math.max(this.#lastAt + 0.001, this.#scheduler.now + delayMs);
    return this.#scheduler.at(this.#lastAt, what, run, process);
  }

  /** What comes now waits for nothing that was given before. */
  forget(): void {
    this.#lastAt = 0;
  }
}

/** A handle on an event. */
export interface Scheduled {
  cancel(): void;
}

/**
 * The one loop of the simulation: it owns virtual time and runs one event after the other, each with all the promises
 * that it settles. What happens at one moment happens in an order that the seed chooses.
 */
export class Scheduler {
  /** Milliseconds since the beginning. */
  now = 0;
  executed = 0;
  readonly random: Random;
  readonly trace = new TraceHash();
  /** Told of each event before it runs. */
  onEvent: ((what: string) => void) | undefined;
  /** What an event threw. */
  onThrown: (error: unknown, what: string) => void = (error) => {
    throw error;
  };
  readonly #heap: Event[] = [];
  #order = 0;
  #ended = false;

  constructor(random: Random) {
    this.random = random;
  }

  /** Runs it after so long, within the process when one is given. */
  after(delayMs: number, what: string, run: () => void, process?: Process): Scheduled {
    return this.at(this.now + Math.max(delayMs, 0), what, run, process);
  }

  at(time: number, what: string, run: () => void, process?: Process): Scheduled {
    const event: Event = { at: Math.max(time, this.now), tie: this.random.next(), order: this.#order++, what, process, run };
    this.#push(event);
    return { cancel: () => void (event.run = undefined) };
  }

  /** Kills: nothing of it happens any more. */
  kill(process: Process): void {
    process.alive = false;
    process.held.length = 0;
  }

  pause(process: Process): void {
    process.paused = true;
  }

  /** All that the process has missed happens now, in its order. */
  resume(process: Process): void {
    process.paused = false;
    for (const event of process.held.splice(0)) this.#push(Object.assign(event, { at: this.now, tie: -1, order: this.#order++ }));
  }

  /** Ends after the event that runs. */
  end(): void {
    this.#ended = true;
  }

  /** Runs everything until then. */
  async runUntil(time: number): Promise<void> {
    for (;;) {
      const next = this.#heap[0];
      if (this.#ended || next === undefined || next.at > time) break;
      this.#pop();
      if (next.run === undefined || next.process?.alive === false) continue;
      if (next.process?.paused === true) {
        next.process.held.push(next);
        continue;
      }
      this.now = next.at;
      await this.#execute(next);
    }
    if (!this.#ended) this.now = Math.max(this.now, time);
  }

  async #execute({ what, process, run }: Event): Promise<void> {
    this.executed++;
    const named = `${this.now.toFixed(3)} ${process?.name ?? '-'} ${what}`;
    this.trace.add(named);
    this.onEvent?.(named);
    try {
      run?.();
    } catch (error) {
      this.onThrown(error, what);
    }
    // A tick comes when no promise is left to be settled: what the event has caused at once has happened by then.
    await new Promise<void>((resolve) => nextTick(resolve));
  }

  #push(event: Event): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(event);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, heap[parent] as Event)) break;
      heap[at] = heap[parent] as Event;
      at = parent;
    }
    heap[at] = event;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Event, heap[child] as Event)) child++;
      if (!isBefore(heap[child] as Event, last)) break;
      heap[at] = heap[child] as Event;
      at = child;
    }
    heap[at] = last;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return (a.at - b.at || a.tie - b.tie || a.order - b.order) < 0;
}
