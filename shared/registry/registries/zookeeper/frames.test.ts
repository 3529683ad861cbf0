import { describe, expect, it } from 'vitest';
import { FrameReader, maxFrameBytes } from './frames.js';

function frame(...bytes: number[]): Buffer {
  return Buffer.from([0, 0, 0, bytes.length, ...bytes]);
}

describe('FrameReader', () => {
  const stream = Buffer.concat([frame(1), frame(), frame(2, 3, 4), frame(5, 6)]);
  const frames = [frame(1), frame(), frame(2, 3, 4), frame(5, 6)];

  it.each([1, 2, 3, 5, 7, 100])('finds the same frames in pieces of %i bytes', (size) => {
    const reader = new FrameReader();
    const found: Buffer[] = [];
    for (let at = 0; at < stream.length; at += size) found.push(...reader.push(stream.subarray(at, at + size)));
    expect(found).toEqual(frames);
  });

  it('keeps what is not whole', () => {
    const reader = new FrameReader();
    expect(reader.push(Buffer.concat([frame(1), frame(2, 3).subarray(0, 5)]))).toEqual([frame(1)]);
    expect(reader.push(Buffer.from([3]))).toEqual([frame(2, 3)]);
  });

  it('refuses a length that cannot be, also when it comes in pieces', () => {
    expect(() => new FrameReader().push(Buffer.from([0xff, 0xff, 0xff, 0xff]))).toThrow(/-1 bytes/);
    const long = Buffer.alloc(4);
    long.writeInt32BE(maxFrameBytes + 1);
    const reader = new FrameReader();
    expect(reader.push(long.subarray(0, 2))).toEqual([]);
    expect(() => reader.push(long.subarray(2))).toThrow(/cannot be/);
  });
});
