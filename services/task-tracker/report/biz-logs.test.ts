import { describe, expect, it } from 'vitest';
import type { LogLine } from '../../../shared/grpc/generated/lts/v1/LogLine.js';
import { VirtualClock } from '../../../test/kit/virtual-clock.js';
import { BizLogs } from './biz-logs.js';
import type { LineStore } from './line-store.js';

/** A line store in memory with room for so many chunks. */
function memory(room: number): LineStore & { chunks: Map<string, LogLine[]> } {
  const chunks = new Map<string, LogLine[]>();
  let handedOut = new Set<string>();
  let last = 0;
  return {
    chunks,
    keep: (lines) => {
      if (chunks.size >= room) return false;
      chunks.set(String(++last), [...lines]);
      return true;
    },
    next: () => {
      for (const [id, lines] of chunks) {
        if (handedOut.has(id)) continue;
        handedOut.add(id);
        return { id, lines };
      }
      return undefined;
    },
    takeStored: () => undefined,
    rewind: () => {
      handedOut = new Set();
    },
    forget: (ids) => {
      for (const id of ids) chunks.delete(id);
    },
  };
}

const line = (text: string, instance = 'i'): LogLine => ({ instance_id: instance, attempt: 1, at: 1, level: 'LOG_LEVEL_INFO', text, truncated: false });
const stream = { closed: false };

/** All lines that it sends now, with the number of the last frame. */
function drain(logs: BizLogs, on = stream): { texts: string[]; sequence: number } {
  const texts: string[] = [];
  let sequence = 0;
  for (let frame = logs.nextFrame(on); frame !== undefined; frame = logs.nextFrame(on)) {
    texts.push(...(frame.logs?.lines ?? []).map(({ text }) => text ?? ''));
    sequence = Number(frame.logs?.sequence);
    logs.ack(on, { sequence });
  }
  return { texts, sequence };
}

describe('BizLogs', () => {
  it('sends lines in their order and numbers the frames from 1', () => {
    const logs = new BizLogs({ store: memory(0), clock: new VirtualClock() });
    logs.setHome(stream);
    for (let i = 0; i < 1_200; i++) logs.add(line(`${i}`));
    const { texts, sequence } = drain(logs);
    expect(texts).toEqual(Array.from({ length: 1_200 }, (_, i) => `${i}`));
    expect(sequence).toBe(3);
    expect(logs.unacked).toBe(0);
  });

  it('waits for acks before it sends more than four frames', () => {
    const logs = new BizLogs({ store: memory(0), clock: new VirtualClock() });
    logs.setHome(stream);
    for (let i = 0; i < 5_000; i++) logs.add(line('x'));
    let frames = 0;
    while (logs.nextFrame(stream) !== undefined) frames++;
    expect(frames).toBe(4);
    logs.ack(stream, { sequence: 1 });
    expect(logs.nextFrame(stream)?.logs?.sequence).toBe(5);
  });

  it('sends again on a new stream what was not acked', () => {
    const logs = new BizLogs({ store: memory(0), clock: new VirtualClock() });
    logs.setHome(stream);
    logs.add(line('a'));
    logs.nextFrame(stream);
    logs.add(line('b'));
    logs.closed(stream);
    const next = { closed: false };
    logs.setHome(next);
    expect(drain(logs, next)).toEqual({ texts: ['a', 'b'], sequence: 1 });
  });

  it('puts lines on the disk after a second without a stream, and sends them from there', async () => {
    const clock = new VirtualClock();
    const store = memory(10);
    const logs = new BizLogs({ store, clock });
    logs.add(line('a'));
    await clock.advance(1_000);
    expect([...store.chunks.values()]).toEqual([[line('a')]]);
    logs.add(line('b'));
    logs.setHome(stream);
    expect(drain(logs).texts).toEqual(['a', 'b']);
    expect(store.chunks.size).toBe(0);
  });

  it('drops the oldest when nothing has room, and marks the loss per run', () => {
    const logs = new BizLogs({ store: memory(0), clock: new VirtualClock() });
    for (let i = 0; i < 25_000; i++) logs.add(line(`${i}`, i % 2 === 0 ? 'even' : 'odd'));
    logs.setHome(stream);
    const frames: LogLine[] = [];
    for (let frame = logs.nextFrame(stream); frame !== undefined; frame = logs.nextFrame(stream)) {
      frames.push(...(frame.logs?.lines ?? []));
      logs.ack(stream, { sequence: Number(frame.logs?.sequence) });
    }
    const marks = frames.filter(({ truncated }) => truncated);
    expect(new Set(marks.map(({ instance_id }) => instance_id))).toEqual(new Set(['even', 'odd']));
    expect(marks.length).toBe(2);
    const kept = frames.filter(({ truncated }) => truncated !== true).map(({ text }) => Number(text));
    expect(kept.length).toBeLessThanOrEqual(10_000);
    expect(kept.length).toBeGreaterThan(7_000);
    expect(kept.at(-1)).toBe(24_999);
    expect(kept[0]).toBe(25_000 - kept.length);
    const lost = marks.reduce((sum, { text }) => sum + Number.parseInt(text ?? '', 10), 0);
    expect(lost + kept.length).toBe(25_000);
  });
});
