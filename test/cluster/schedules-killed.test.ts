import { describe, expect, it } from 'vitest';
import { killTrackers } from './kills/kill-trackers.js';

/** 500 fires a second; `npm run kills` kills more often. */
const jobs = 500;

describe('trackers are killed while 500 schedules fire every second', () => {
  it('on SQLite, one tracker that is started again: each scheduled time runs once or is a row that says why not', async () => {
    const { wrong, runs } = await killTrackers({ store: 'sqlite', trackers: 1, kills: 15, jobs, everyMs: 500, seed: 1 });
    expect(wrong.slice(0, 20)).toEqual([]);
    expect(runs).toBeGreaterThan(jobs);
  });

  it('on PostgreSQL, three trackers that take over from each other: each scheduled time runs once or is a row that says why not', async () => {
    const { wrong, runs } = await killTrackers({ store: 'postgres', trackers: 3, kills: 15, jobs, everyMs: 500, seed: 2 });
    expect(wrong.slice(0, 20)).toEqual([]);
    expect(runs).toBeGreaterThan(jobs);
  });
});
