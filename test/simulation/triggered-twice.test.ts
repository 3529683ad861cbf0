import { expect, it } from 'vitest';
import { encodeJob } from '../../shared/grpc/job-codec.js';
import { makeSchedule } from './schedules.js';
import { settingsOf } from './settings.js';
import { World } from './world.js';

it('a run by hand that is asked for twice at once is one run, and does not stand in the way for ever', async () => {
  const world = new World({ ...settingsOf(2), partitions: 1, groups: 1, workersPerGroup: 1, loadUntilMs: 0 });
  const { scheduler, history, db, random } = world;
  const [client] = world.clients;
  await scheduler.runUntil(3_000);
  const id = world.newId();
  const bytes = encodeJob({ instance_id: id, task_id: 'cycle-1', node_group: 'group-1', cron_expression: '*/2 * * * * ?', cron_dialect: 'CRON_DIALECT_QUARTZ' });
  client?.schedules.enroll({ ...makeSchedule(random, id, 'cycle-1', 'group-1', 'clients-0', 0), bytes, times: 'cron', periodMs: 2_000, count: -1, misfire: { action: 'FIRE_ONCE', threshold: 60_000, newest: 100, window: 0 }, blocking: { strategy: 'DISCARD_LATER', limit: 1 }, plans: [{ durationMs: 10, outcome: 'SUCCESS', retryInMs: 0, stubborn: false }] });
  await scheduler.runUntil(10_000);
  const owner = world.runningTrackers.find(({ process: { host } }) => host === db.tables.owners[0]?.nodeId);
  const order = { nodeGroup: 'group-1', taskId: 'cycle-1', instanceId: world.newId(), extParams: {}, payload: undefined, scheduledTime: 0 };
  const answers: string[] = [];
  for (let i = 0; i < 3; i++) void owner?.core.schedules.trigger(order).then(({ instanceId }) => answers.push(instanceId));
  await scheduler.runUntil(30_000);
  expect(answers).toEqual([order.instanceId, order.instanceId, order.instanceId]);
  expect(db.tables.byId.get(order.instanceId)?.state).toBe('SUCCEEDED');
  const states = [...db.tables.rows.values()].filter(({ scheduledAt }) => scheduledAt > (db.tables.byId.get(order.instanceId)?.endedAt ?? 0)).map(({ state }) => state);
  expect(states.length).toBeGreaterThan(5);
  expect(new Set(states.slice(0, -1))).toEqual(new Set(['SUCCEEDED']));
  expect(history.violations).toEqual([]);
});
