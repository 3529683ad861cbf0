import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { JobClient } from '../../services/job-client/index.js';
import { Admin } from '../cluster/admin.js';
import { eventually } from '../kit/eventually.js';
import { ComposeHost } from './compose-host.js';

// The commands, settings, health checks, order of start and times to stop of compose.yaml, without containers.

let host: ComposeHost;
let admin: Admin;
let client: JobClient;

beforeAll(async () => {
  host = await ComposeHost.start();
});

afterAll(async () => {
  await client?.close();
  admin?.close();
  await host.stop();
});

describe('what compose.yaml starts', () => {
  let submitted: string[] = [];

  async function submit(count: number, type: string, payload: string): Promise<void> {
    const jobs = Array.from({ length: count }, (_, index) => ({ task_id: `${type}-${submitted.length + index}`, node_group: 'demo', type, payload }));
    const results = await client.submitMany(jobs);
    expect(results.map(({ outcome }) => outcome)).toEqual(jobs.map(() => 'SUBMIT_OUTCOME_ACCEPTED'));
    submitted = [...submitted, ...results.map(({ instance_id }) => instance_id ?? '')];
  }

  it('becomes healthy by its own checks, in its own order', async () => {
    const waiting = new Set(host.names);
    const up = new Set<string>();
    while (waiting.size > 0) {
      const next = [...waiting].filter((name) => host.needsOf(name).every((needed) => up.has(needed)));
      expect(next).not.toEqual([]);
      for (const name of next) host.up(name);
      for (const name of next) {
        await host.becomesHealthy(name);
        waiting.delete(name);
        up.add(name);
      }
    }
    expect(host.names.length).toBe(5);
    admin = new Admin(host.gateway);
    client = new JobClient({ gateway: host.gateway });
  });

  it('runs a job that comes through the gateway', async () => {
    await submit(1, 'echo', 'world');
    const [id = ''] = submitted;
    expect(await eventually(async () => (await admin.instance(id)).state === 'INSTANCE_STATE_SUCCEEDED' && (await admin.instance(id)).message)).toBe('world');
  });

  it('leaves with 0 within its time when each is restarted in turn, and no run is lost or repeated', async () => {
    for (const name of host.names) {
      await submit(20, 'sleep', '1s');
      expect([name, await host.down(name)]).toEqual([name, 0]);
      expect(await host.healthy(name)).toBe(false);
      host.up(name);
      await host.becomesHealthy(name);
    }
    await eventually(async () => (await admin.instances()).every(({ state }) => state === 'INSTANCE_STATE_SUCCEEDED'), { withinMs: 30_000, what: 'all jobs have succeeded' });
    const instances = await admin.instances();
    expect(instances.map(({ instance_id }) => instance_id).toSorted()).toEqual(submitted.toSorted());
    expect(instances.filter(({ attempt }) => attempt !== 1)).toEqual([]);
  });

  it('leaves as a whole with 0', async () => {
    const down = async (prefix: string): Promise<void> => {
      for (const name of host.names.filter((one) => one.startsWith(prefix))) expect([name, await host.down(name)]).toEqual([name, 0]);
    };
    for (const prefix of ['job-client', 'task-tracker', 'job-tracker']) await down(prefix);
  });
});
