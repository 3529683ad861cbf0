import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { cleanUp, folder } from '../../test/kit/worker.js';
import { type Runners, TaskTracker, type TaskTrackerOptions } from './index.js';

afterEach(cleanUp);

const options: TaskTrackerOptions = { trackers: ['127.0.0.1:1'], nodeGroup: 'g', runners: () => undefined };

describe('the options of a worker', () => {
  it('are checked all at once', () => {
    const wrong = { nodeGroup: 'a b', workThreads: 0, graceMs: -1, nodeId: '' } as unknown as TaskTrackerOptions;
    expect(() => new TaskTracker(wrong)).toThrow(
      expect.objectContaining({ reason: 'CONFIG_INVALID', message: expect.stringMatching(/trackers:[^]*nodeGroup: "a b"[^]*nodeId:[^]*runners: is missing[^]*workThreads: 0[^]*graceMs: -1/) }),
    );
  });

  it.each<[string, Runners, RegExp]>([
    ['an empty table', {}, /there is no runner/],
    ['a value that is no function', { a: 5, b: { run: 'x' } } as unknown as Runners, /a is neither[^]*b is neither/],
    ['a thread without a module', { a: { run: () => undefined, thread: true } }, /a asks for a thread of its own, which needs the runners as a module/],
  ])('runners: %s', async (_what, runners, message) => {
    await expect(new TaskTracker({ ...options, runners }).start()).rejects.toMatchObject({ reason: 'CONFIG_INVALID', message: expect.stringMatching(message) });
  });

  it.each([
    ['is missing', undefined, /there is no such file: \//],
    ['does not parse', 'export const runners = {', /cannot be loaded/],
    ['exports nothing', 'export const other = 1;', /exports no runners/],
  ])('a module that %s', async (_what, text, message) => {
    const file = join(folder(), 'runners.mjs');
    if (text !== undefined) writeFileSync(file, text);
    await expect(new TaskTracker({ ...options, runners: file }).start()).rejects.toMatchObject({ reason: 'CONFIG_INVALID', message: expect.stringMatching(message) });
  });

  it('a FailStore folder that cannot be made is told by start()', async () => {
    const file = join(folder(), 'file');
    writeFileSync(file, '');
    const worker = new TaskTracker({ ...options, dataDir: file });
    await expect(worker.start()).rejects.toMatchObject({ reason: 'STORE_FAILED', message: expect.stringContaining('choose another data folder') });
    await expect(worker.closed).rejects.toMatchObject({ reason: 'STORE_FAILED' });
  });
});
