import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../kit/eventually.js';
import { freePort } from '../kit/ports.js';
import { ServiceProcess } from '../kit/service-process.js';
import { Admin } from './admin.js';
import { Cluster } from './cluster.js';
import { conclude } from './conclude.js';
import { Load } from './load.js';

const groups = ['mail', 'print', 'scan', 'copy', 'bill', 'sort'];

describe('nodes are drained and undrained under load', () => {
  let cluster: Cluster;
  let load: Load;
  let gateway: ServiceProcess;
  let admin: Admin;

  afterEach(async () => {
    admin.close();
    gateway.kill();
    await load.close();
    await cluster.stop();
  });

  const stateOf = async (nodeId: string): Promise<string[]> => (await admin.nodes()).filter(({ node_id }) => node_id === nodeId).map(({ state }) => state.replace('NODE_STATE_', ''));

  it('a tracker hands over its partitions, a worker gets nothing new; nothing is disturbed', async () => {
    cluster = await Cluster.start({ trackers: 3, store: 'postgres', partitions: 16 });
    for (const name of ['w1', 'w2']) await cluster.startHost(name, groups);
    const address = `127.0.0.1:${await freePort()}`;
    gateway = new ServiceProcess(['job-client', '--listen', address, '--trackers', cluster.addresses.join(','), '--data-dir', `${cluster.folder}/gateway`]);
    await gateway.address(30_000);
    admin = new Admin(address);
    load = new Load(cluster, { submitTimeout: 15_000 });
    load.receive();
    let next = 0;
    load.start(60, () => ({ node_group: groups[next++ % groups.length] ?? '' }));
    await eventually(() => cluster.witness.ends().length > 60, { what: 'work goes on' });

    expect(await admin.drain('b')).toBe(true);
    await cluster.evenly(['a', 'c']);
    expect(await stateOf('b')).toEqual(['DRAINED']);
    await expect(admin.drain('nobody')).rejects.toThrow(/NOT_FOUND|a, b, c, w1, w2/);
    // The same process of a drained node comes back as drained.
    expect(await cluster.tracker('b').process.stop()).toBe(0);
    await cluster.tracker('b').start();
    await cluster.allKnown();
    await cluster.evenly(['a', 'c']);
    await admin.drain('c');
    await cluster.evenly(['a']);
    await expect(admin.drain('a')).rejects.toThrow(/last tracker/);
    for (const name of ['b', 'c']) expect(await admin.undrain(name)).toBe(true);
    await cluster.evenly();

    // The gateway shows all workers of all owners, each once.
    await eventually(async () => (await admin.nodes()).filter(({ kind, state }) => kind === 'NODE_KIND_TASK_TRACKER' && state === 'NODE_STATE_ONLINE').length === 2 * groups.length, { what: 'all workers are shown' });
    expect((await admin.queues()).map(({ node_group }) => node_group)).toEqual(expect.arrayContaining(groups));
    expect(await admin.drain('w1')).toBe(true);
    await eventually(async () => (await stateOf('w1')).every((state) => state === 'DRAINED') && (await admin.nodes()).every(({ node_id, running }) => node_id !== 'w1' || running === 0), { what: 'w1 is drained' });
    const pid = cluster.hosts[0]?.pid;
    const ran = cluster.witness.starts().filter((line) => line.pid === pid).length;
    const before = cluster.witness.ends().length;
    await eventually(() => cluster.witness.ends().length > before + 60, { withinMs: 20_000, what: 'the other worker goes on' });
    expect(cluster.witness.starts().filter((line) => line.pid === pid)).toHaveLength(ran);

    await admin.drain('w2');
    await eventually(async () => (await stateOf('w2')).every((state) => state === 'DRAINED'), { what: 'every owner knows that w2 is drained' });
    const id = await load.submitted({ node_group: 'mail' });
    await eventually(async () => (await admin.explain(id)).includes('WAIT_REASON_WORKERS_DRAINED'), { what: 'explain names the drain' });
    for (const name of ['w1', 'w2']) await admin.undrain(name);
    expect(await conclude(cluster, load)).toEqual([]);
    expect(load.failures).toEqual([]);
    expect((await admin.instances()).filter(({ attempt }) => attempt !== 1)).toEqual([]);
    expect(load.results.size).toBe(load.acked.length);
  });
});
