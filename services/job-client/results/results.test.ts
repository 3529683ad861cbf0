import { afterEach, describe, expect, it } from 'vitest';
import type { JobResult } from '../../../shared/grpc/generated/lts/v1/JobResult.js';
import { newId } from '../../../shared/ids.js';
import { eventually } from '../../../test/kit/eventually.js';
import { freePort } from '../../../test/kit/ports.js';
import { FakeTracker } from '../fake-tracker.js';
import { JobClient, type JobClientOptions } from '../job-client.js';

const trackers: FakeTracker[] = [];
const clients: JobClient[] = [];

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  for (const tracker of trackers.splice(0)) tracker.stop();
});

async function startTracker(port = 0): Promise<FakeTracker> {
  const tracker = await new FakeTracker().start(port);
  trackers.push(tracker);
  return tracker;
}

function connect(options: JobClientOptions): JobClient {
  const client = new JobClient({ nodeGroup: 'shop', nodeId: 'shop-1', ...options });
  clients.push(client);
  return client;
}

function result(id: string = newId()): JobResult {
  return { feedback_id: id, instance_id: id, task_id: 't', node_group: 'g', submit_node_group: 'shop', state: 'INSTANCE_STATE_SUCCEEDED', message: 'done' };
}

function send(tracker: FakeTracker, ...results: JobResult[]): void {
  for (const receiver of tracker.receivers) receiver.write({ results });
}

function acked(tracker: FakeTracker): string[] {
  return tracker.frames.flatMap(({ ack }) => ack?.feedback_ids ?? []);
}

function failures(tracker: FakeTracker): { feedback_id: string; message: string }[] {
  return tracker.frames.flatMap(({ ack }) => ack?.failures ?? []);
}

describe('onResult', () => {
  it('has a name of its own in each client, also without being given one', async () => {
    const tracker = await startTracker();
    for (const client of [1, 2].map(() => new JobClient({ nodeGroup: 'shop', trackers: [tracker.address] }))) {
      clients.push(client);
      client.onResult(async () => undefined);
    }
    await eventually(() => tracker.frames.filter(({ hello }) => hello).length === 2);
    const [one, other] = tracker.frames.map(({ hello }) => hello?.client_id);
    expect(one).toMatch(/-shop-[0-9a-f]{8}$/);
    expect(other).not.toBe(one);
  });

  it('says who it is, and acks only after the handler has resolved', async () => {
    const tracker = await startTracker();
    const client = connect({ trackers: [tracker.address] });
    const taken: string[] = [];
    const finish: (() => void)[] = [];
    client.onResult(async ({ feedback_id: id, message }) => {
      taken.push(`${id} ${message}`);
      await new Promise<void>((resolve) => finish.push(resolve));
    }, { maxInFlight: 7 });
    await eventually(() => tracker.frames.length === 1);
    expect(tracker.frames[0]?.hello).toEqual({ submit_node_group: 'shop', client_id: 'shop-1', max_in_flight: 7, master_token: 0, monotonic: expect.any(Number) });
    expect(tracker.frames[0]?.hello?.monotonic).toBeGreaterThan(0);
    const sent = result();
    send(tracker, sent);
    await eventually(() => taken.length === 1);
    // Everything that was written before this frame has arrived when the next result is taken.
    send(tracker, sent);
    const other = result();
    send(tracker, other);
    await eventually(() => taken.length === 2);
    expect(acked(tracker)).toEqual([]);
    finish[1]?.();
    await eventually(() => acked(tracker).length === 1);
    expect(acked(tracker)).toEqual([other.feedback_id]);
    finish[0]?.();
    await eventually(() => acked(tracker).length === 2);
    expect(taken).toEqual([`${sent.feedback_id} done`, `${other.feedback_id} done`]);
  });

  it('reports what the handler threw, and goes on', async () => {
    const tracker = await startTracker();
    const client = connect({ trackers: [tracker.address] });
    client.onResult(({ task_id: task }) => {
      if (task === 'bad') throw new Error(`no ${'x'.repeat(2_000)}`);
    });
    await eventually(() => tracker.receivers.size === 1);
    const [bad, good] = [{ ...result(), task_id: 'bad' }, result()];
    send(tracker, bad, good);
    await eventually(() => acked(tracker).length === 1 && failures(tracker).length === 1);
    expect(acked(tracker)).toEqual([good.feedback_id]);
    expect(failures(tracker)[0]?.feedback_id).toBe(bad.feedback_id);
    expect(failures(tracker)[0]?.message).toHaveLength(1_024);
  });

  it('runs no more handlers at once than asked for', async () => {
    const tracker = await startTracker();
    const client = connect({ trackers: [tracker.address] });
    let running = 0;
    let most = 0;
    const waiting: (() => void)[] = [];
    client.onResult(async () => {
      most = Math.max(most, ++running);
      await new Promise<void>((resolve) => waiting.push(resolve));
      running--;
    }, { maxInFlight: 3 });
    await eventually(() => tracker.receivers.size === 1);
    send(tracker, ...Array.from({ length: 10 }, () => result()));
    await eventually(() => {
      for (const finish of waiting.splice(0)) finish();
      return acked(tracker).length === 10;
    });
    expect(most).toBe(3);
  });

  it('listens at every tracker, comes back to one that was away, and follows the map', async () => {
    const port = await freePort();
    const first = await startTracker();
    const late = `127.0.0.1:${port}`;
    first.showOwner(1, first.address, late);
    const client = connect({ trackers: [first.address] });
    const taken: string[] = [];
    client.onResult(({ feedback_id: id }) => void taken.push(id));
    await eventually(() => first.receivers.size === 1);
    const second = await startTracker(port);
    await eventually(() => second.receivers.size === 1);
    const [one, two] = [result(), result()];
    send(first, one);
    send(second, two);
    await eventually(() => taken.length === 2);
    await eventually(() => acked(first).length === 1 && acked(second).length === 1);
    expect([acked(first), acked(second)]).toEqual([[one.feedback_id], [two.feedback_id]]);
    for (const receiver of second.receivers) receiver.end();
    await eventually(() => second.frames.filter(({ hello }) => hello).length === 2);
    first.showOwner(2, first.address);
    await eventually(() => second.receivers.size === 0);
    expect(first.receivers.size).toBe(1);
  });

  it('waits for running handlers when it is closed, and takes nothing after', async () => {
    const tracker = await startTracker();
    const client = connect({ trackers: [tracker.address] });
    let finish: () => void = () => undefined;
    const taken: string[] = [];
    const subscription = client.onResult(async ({ feedback_id: id }) => {
      taken.push(id);
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
    }, { maxInFlight: 1 });
    await eventually(() => tracker.receivers.size === 1);
    const [one, two] = [result(), result()];
    send(tracker, one, two);
    await eventually(() => taken.length === 1);
    const closed = subscription.close();
    finish();
    await closed;
    await eventually(() => acked(tracker).length === 1 && tracker.receivers.size === 0);
    expect(taken).toEqual([one.feedback_id]);
  });

  it('is closed when the tracker has stored the acks of handlers that had returned', async () => {
    const tracker = await startTracker();
    const steps: string[] = [];
    tracker.onLeave = async () => {
      steps.push(`acked ${acked(tracker).length}`);
      await new Promise((resolve) => setImmediate(resolve));
      steps.push('stored');
    };
    const client = connect({ trackers: [tracker.address] });
    const sent = result();
    await new Promise<void>((resolve) => {
      client.onResult(() => resolve());
      void eventually(() => tracker.receivers.size === 1).then(() => send(tracker, sent));
    });
    await client.close();
    expect(steps).toEqual(['acked 1', 'stored']);
    expect(acked(tracker)).toEqual([sent.feedback_id]);
  });

  it('needs a group', () => {
    const client = new JobClient({ gateway: '127.0.0.1:1' });
    clients.push(client);
    expect(() => client.onResult(() => undefined)).toThrow('nodeGroup');
  });
});

describe('onMaster', () => {
  const tell = (tracker: FakeTracker, self: boolean, nodeId: string, token: number, lease = 60_000): void => {
    for (const receiver of tracker.receivers) receiver.write({ results: [], master: { self, node_id: nodeId, token, lease } });
  };

  it('tells each change, and the client claims its mastership on the next stream', async () => {
    const tracker = await startTracker();
    const client = connect({ trackers: [tracker.address] });
    const seen: unknown[] = [];
    const subscription = client.onMaster((mastership) => seen.push(mastership));
    client.onResult(() => undefined);
    await eventually(() => tracker.receivers.size === 1);
    tell(tracker, false, 'other', 4);
    tell(tracker, true, 'shop-1', 5);
    await eventually(() => seen.length === 2);
    expect(seen).toEqual([{ master: false, nodeId: 'other', token: 4 }, { master: true, nodeId: 'shop-1', token: 5 }]);
    client.onMaster((mastership) => seen.push(mastership)).close();
    expect(seen).toHaveLength(3);
    for (const receiver of tracker.receivers) receiver.end();
    await eventually(() => tracker.frames.filter(({ hello }) => hello).length === 2);
    expect(tracker.frames.flatMap(({ hello }) => hello?.master_token ?? [])).toEqual([0, 5]);
    expect(client.mastership.master).toBe(true);
    subscription.close();
    await client.close();
    expect(client.mastership).toEqual({ master: false, nodeId: '', token: 5 });
    expect(seen).toHaveLength(3);
  });

  it('is over when the lease is', async () => {
    const tracker = await startTracker();
    const client = connect({ trackers: [tracker.address] });
    client.onResult(() => undefined);
    await eventually(() => tracker.receivers.size === 1);
    tell(tracker, true, 'shop-1', 5, 100);
    await eventually(() => client.mastership.token === 5);
    await eventually(() => !client.mastership.master);
    expect(client.mastership).toEqual({ master: false, nodeId: '', token: 5 });
  });
});
