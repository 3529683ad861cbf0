import { expect, it } from 'vitest';
import { makeSchedule } from './schedules.js';
import { settingsOf } from './settings.js';
import { World } from './world.js';

const hourMs = 3_600_000;

it('a schedule that ran while the clock was an hour ahead is resumed after the clock was set back: no time runs twice', async () => {
  const world = new World({ ...settingsOf(2), partitions: 1, groups: 1, workersPerGroup: 1, loadUntilMs: 0, storeHasClock: true });
  const { scheduler, history, db, random } = world;
  const [client] = world.clients;
  await scheduler.runUntil(3_000);
  let made = makeSchedule(random, world.newId(), 'cycle-1', 'group-1', 'clients-0', 0);
  while (made.times !== 'cron' || made.blocking.strategy !== 'CONCURRENT') made = makeSchedule(random, world.newId(), 'cycle-1', 'group-1', 'clients-0', 0);
  client?.schedules.enroll(made);
  await scheduler.runUntil(5_000);
  world.storeWall.set(hourMs);
  await scheduler.runUntil(60_000);
  const name = { node_group: 'group-1', task_id: 'cycle-1' };
  const schedule = () => [...db.tables.schedules.values()][0];
  const ranFor = schedule()?.lastAt ?? 0;
  expect(ranFor - world.storeWall.now()).toBeGreaterThan(-60_000);
  world.storeWall.set(0);
  client?.schedules.call(name, 'suspend');
  await scheduler.runUntil(70_000);
  expect(schedule()?.state).toBe('SUSPENDED');
  client?.schedules.call(name, 'resume');
  await scheduler.runUntil(80_000);
  expect(schedule()?.state).toBe('ACTIVE');
  expect(schedule()?.nextAt).toBeGreaterThan(ranFor);
  expect(history.violations).toEqual([]);
});
