import { afterEach, describe, expect, it } from 'vitest';
import { JobClient, type Mastership } from '../../services/job-client/index.js';
import { eventually } from '../kit/eventually.js';
import type { ServiceProcess } from '../kit/service-process.js';
import { Cluster } from './cluster.js';

const graceMs = 7_000;

/** What a worker took the mastership for, in the order of its log. */
const views = (worker: ServiceProcess): Mastership[] => worker.logged('master.changed') as unknown as Mastership[];
const lastView = (worker: ServiceProcess): Mastership | undefined => views(worker).at(-1);

describe('the master of a group', () => {
  let cluster: Cluster;
  const clients: JobClient[] = [];

  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.close()));
    await cluster.stop();
  });

  /** The one live worker that takes itself for the master, once all of them agree, under a token greater than that. */
  function master(workers: readonly ServiceProcess[], after: number): Promise<ServiceProcess> {
    const look = (): ServiceProcess | undefined => {
      const seen = workers.map(lastView);
      const tokens = new Set(seen.map((view) => view?.token));
      const masters = workers.filter((_, index) => seen[index]?.master);
      return tokens.size === 1 && masters.length === 1 && (seen[0]?.token ?? 0) > after ? masters[0] : undefined;
    };
    return eventually(look, { withinMs: 25_000, everyMs: 50, what: `one master with a token above ${after}` });
  }

  const marked = async (): Promise<{ id: string; token: number }[]> => {
    const nodes = await (await cluster.owner()).admin.nodes();
    return nodes.filter((node) => node.master).map((node) => ({ id: node.node_id, token: node.master_token }));
  };

  it('is one worker: another when it is killed or stands still, the same when the owner is killed, each time with a greater token', async () => {
    cluster = await Cluster.start({ trackers: 2, graceMs });
    const workers = await Promise.all(['w1', 'w2', 'w3'].map((name) => cluster.startWorker(name)));
    const first = await master(workers, 0);
    const token = lastView(first)?.token ?? 0;
    expect(await marked()).toEqual([{ id: `w${workers.indexOf(first) + 1}`, token }]);

    first.kill();
    const alive = workers.filter((worker) => worker !== first);
    const second = await master(alive, token);
    const secondToken = lastView(second)?.token ?? 0;

    second.pause();
    const [third] = alive.filter((worker) => worker !== second) as [ServiceProcess];
    await eventually(() => lastView(third)?.master, { withinMs: 20_000, everyMs: 50, what: 'the third one is master' });
    const thirdToken = lastView(third)?.token ?? 0;
    // The fence: what the paused one still writes carries the smaller token.
    expect(lastView(second)).toMatchObject({ master: true, token: secondToken });
    expect(thirdToken).toBeGreaterThan(secondToken);
    second.resume();
    expect(await master(alive, thirdToken - 1)).toBe(third);

    const owner = await cluster.owner();
    await owner.kill();
    expect(await master(alive, thirdToken)).toBe(third);
    // It was master all the time in its own eyes, too.
    const since = views(third).findIndex((view) => view.master);
    expect(views(third).slice(since).every((view) => view.master)).toBe(true);
    expect(await marked()).toEqual([{ id: `w${workers.indexOf(third) + 1}`, token: lastView(third)?.token }]);
  });

  it('is one receiver of results, and the other one once that has gone', async () => {
    cluster = await Cluster.start({ graceMs });
    const seen: Mastership[][] = [[], []];
    for (const [index, view] of seen.entries()) {
      const client = new JobClient({ trackers: cluster.addresses, nodeGroup: 'clients', nodeId: `c${index}` });
      clients.push(client);
      client.onMaster((mastership) => view.push(mastership));
      client.onResult(() => undefined);
      await eventually(() => view.length > 0, { what: `client ${index} knows the master` });
    }
    const token = seen[0]?.[0]?.token ?? 0;
    expect(seen).toEqual([[{ master: true, nodeId: 'c0', token }], [{ master: false, nodeId: 'c0', token }]]);
    expect(await marked()).toEqual([{ id: 'c0', token }]);
    await clients[0]?.close();
    expect(clients[0]?.mastership.master).toBe(false);
    await eventually(() => clients[1]?.mastership.master, { withinMs: 2 * graceMs, what: 'the other one is master' });
    expect(clients[1]?.mastership.token).toBeGreaterThan(token);
  });
});
