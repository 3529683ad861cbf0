import type { LogLine } from '../../../shared/grpc/generated/lts/v1/LogLine.js';
import type { LogsAck__Output } from '../../../shared/grpc/generated/lts/v1/LogsAck.js';
import type { WorkRequest } from '../../../shared/grpc/generated/lts/v1/WorkRequest.js';
import type { Clock, Timer } from '../../../shared/time/clock.js';
import { keyOf } from '../stream/attempts.js';
import type { LineStore } from './line-store.js';
import type { ResultStream } from './results.js';

const mostLines = 10_000;
const mostChars = 4 * 1024 * 1024;
const mostPerFrame = 500;
const mostCharsPerFrame = 256 * 1024;
/** Frames without an ack; so many more lines wait. */
const mostInFlight = 4;
/** While no stream takes lines, they go to the disk after this time. Milliseconds. */
const storeAfterMs = 1_000;

interface Frame {
  lines: LogLine[];
  /** The chunk of the LineStore that it came from. */
  storedId: string | undefined;
}

/** What the lines need of their surroundings. */
export interface LinePorts {
  store: LineStore;
  clock: Clock;
}

/**
 * Lines of runners on their way to a tracker: waiting → in flight → acked. Bounded: what does not fit goes to the disk,
 * and when that takes no more, the oldest lines are dropped, each run's loss marked by one line.
 */
export class BizLogs {
  readonly #ports: LinePorts;
  #waiting: LogLine[] = [];
  #chars = 0;
  #home: ResultStream | undefined;
  #inFlight = new Map<number, Frame>();
  #sequence = 0;
  /** Lines dropped per attempt, not told yet. */
  readonly #dropped = new Map<string, { last: LogLine; count: number }>();
  #timer: Timer | undefined;

  constructor(ports: LinePorts) {
    this.#ports = ports;
  }

  /** Lines that no tracker has acked and that are in memory. */
  get unacked(): number {
    let count = this.#waiting.length;
    for (const { lines } of this.#inFlight.values()) count += lines.length;
    return count;
  }

  add(line: LogLine): void {
    this.#waiting.push(line);
    this.#chars += charsOf(line);
    if (this.#waiting.length > mostLines || this.#chars > mostChars) this.#makeRoom();
    if (this.#home === undefined) this.#storeSoon();
  }

  setHome(stream: ResultStream): void {
    this.#takeBack();
    if (this.#home !== stream) this.#sequence = 0;
    this.#home = stream;
    this.#ports.store.rewind();
  }

  closed(stream: ResultStream): void {
    if (this.#home !== stream) return;
    this.#home = undefined;
    this.#takeBack();
    if (this.#waiting.length > 0) this.#storeSoon();
  }

  nextFrame(stream: ResultStream): WorkRequest | undefined {
    if (stream !== this.#home || this.#inFlight.size >= mostInFlight) return undefined;
    const frame = this.#nextStored() ?? this.#nextWaiting();
    if (frame === undefined) return undefined;
    const sequence = ++this.#sequence;
    this.#inFlight.set(sequence, frame);
    return { logs: { sequence, lines: frame.lines } };
  }

  ack(stream: ResultStream, ack: LogsAck__Output): void {
    if (stream !== this.#home) return;
    const frame = this.#inFlight.get(ack.sequence);
    this.#inFlight.delete(ack.sequence);
    if (frame?.storedId !== undefined) this.#ports.store.forget([frame.storedId]);
  }

  /** Lines of other incarnations have come into the FailStore, behind this place: they are sent like own ones. */
  takeStored(afterSeq: number): void {
    this.#ports.store.takeStored(afterSeq);
  }

  /** Puts all that is unacked on the disk. */
  storeAll(): void {
    this.#takeBack();
    while (this.#waiting.length > 0 || this.#dropped.size > 0) {
      const lines = this.#takeLines();
      if (this.#ports.store.keep(lines)) continue;
      this.#putBack(lines);
      return;
    }
  }

  close(): void {
    this.#timer?.cancel();
    this.storeAll();
  }

  #nextStored(): Frame | undefined {
    const stored = this.#ports.store.next();
    return stored === undefined ? undefined : { lines: stored.lines, storedId: stored.id };
  }

  #nextWaiting(): Frame | undefined {
    const lines = this.#takeLines();
    return lines.length === 0 ? undefined : { lines, storedId: undefined };
  }

  /** The oldest lines for one frame, marks of losses first. */
  #takeLines(): LogLine[] {
    const marks = [...this.#dropped.values()].slice(0, mostPerFrame).map(({ last, count }): LogLine => {
      this.#dropped.delete(keyOf(last.instance_id ?? '', last.attempt ?? 0));
      return { ...last, level: 'LOG_LEVEL_WARN', text: `${count} lines were dropped: the worker could not send them and had no room`, truncated: true };
    });
    return [...marks, ...this.#takeWaiting(mostPerFrame - marks.length)];
  }

  #takeWaiting(most: number): LogLine[] {
    let count = 0;
    let chars = 0;
    while (count < this.#waiting.length && count < most && chars < mostCharsPerFrame) chars += charsOf(this.#waiting[count++]);
    this.#chars -= chars;
    return this.#waiting.splice(0, count);
  }

  #putBack(lines: readonly LogLine[]): void {
    for (const line of lines) this.#chars += charsOf(line);
    this.#waiting = [...lines, ...this.#waiting];
  }

  /** What was sent and not acked waits again, before the rest. */
  #takeBack(): void {
    const back = [...this.#inFlight.values()].flatMap(({ lines, storedId }) => (storedId === undefined ? lines : []));
    this.#inFlight = new Map();
    this.#putBack(back);
  }

  /** To the disk, or dropped: a quarter of the lines, so that this is rare. */
  #makeRoom(): void {
    const goal = this.#waiting.length * 0.75;
    while (this.#waiting.length > goal) {
      const lines = this.#takeWaiting(mostPerFrame);
      if (!this.#ports.store.keep(lines)) for (const line of lines) this.#drop(line);
    }
  }

  #drop(line: LogLine): void {
    const key = keyOf(line.instance_id ?? '', line.attempt ?? 0);
    const dropped = this.#dropped.get(key);
    if (dropped !== undefined) {
      dropped.last = line;
      dropped.count++;
    } else if (this.#dropped.size < mostLines) this.#dropped.set(key, { last: line, count: 1 });
  }

  #storeSoon(): void {
    this.#timer ??= this.#ports.clock.after(storeAfterMs, () => {
      this.#timer = undefined;
      if (this.#home === undefined) this.storeAll();
    }, { unref: true });
  }
}

function charsOf(line: LogLine | undefined): number {
  return line?.text?.length ?? 0;
}
