import { expect, it } from 'vitest';
import { type Logger, silentLogger } from '../../../shared/log/logger.js';
import { VirtualClock } from '../../../test/kit/virtual-clock.js';
import { UnclaimedFeedback } from './unclaimed-feedback.js';

const minute = 60_000;

it('tells of a group without a receiver once after five minutes, and again only after one was there', async () => {
  const clock = new VirtualClock();
  const receivers = new Set(['served']);
  const counts = [
    { submitNodeGroup: 'lonely', owed: 5, dead: 2 },
    { submitNodeGroup: 'served', owed: 9, dead: 0 },
    { submitNodeGroup: 'all dead', owed: 3, dead: 3 },
  ];
  const told: object[] = [];
  const log: Logger = { ...silentLogger, warn: (event: string, fields: object = {}) => void told.push({ event, ...fields }) };
  const unclaimed = new UnclaimedFeedback({ countFeedback: () => Promise.resolve(counts) }, { hasReceiver: (group) => receivers.has(group) }, clock, log);
  const since = clock.now();
  const pass = async (minutes: number): Promise<void> => {
    for (let i = 0; i < minutes; i++) {
      await unclaimed.look();
      await clock.advance(minute);
    }
    await unclaimed.look();
  };
  await pass(4);
  expect([told, unclaimed.all()]).toEqual([[], []]);
  await pass(3);
  expect(told).toEqual([{ event: 'feedback.unclaimed', group: 'lonely', owed: 3, since }]);
  expect(unclaimed.all()).toEqual([{ submitNodeGroup: 'lonely', owed: 3, since }]);
  receivers.add('lonely');
  await pass(1);
  expect(unclaimed.all()).toEqual([]);
  receivers.delete('lonely');
  await pass(4);
  expect(told).toHaveLength(1);
  await pass(2);
  expect(told).toHaveLength(2);
});

it('leaves it to another tracker: what it told is forgotten', async () => {
  const clock = new VirtualClock();
  const counts = [{ submitNodeGroup: 'lonely', owed: 5, dead: 0 }];
  const unclaimed = new UnclaimedFeedback({ countFeedback: () => Promise.resolve(counts) }, { hasReceiver: () => false }, clock, silentLogger);
  await unclaimed.look();
  await clock.advance(6 * minute);
  await unclaimed.look();
  expect(unclaimed.all()).toHaveLength(1);
  unclaimed.forget();
  expect(unclaimed.all()).toEqual([]);
});

it('goes on after a read that failed', async () => {
  const told: string[] = [];
  const log: Logger = { ...silentLogger, warn: (event: string) => void told.push(event) };
  const unclaimed = new UnclaimedFeedback({ countFeedback: () => Promise.reject(new Error('no')) }, { hasReceiver: () => false }, new VirtualClock(), log);
  await unclaimed.look();
  await unclaimed.look();
  expect(told).toEqual(['store.failed', 'store.failed']);
});
