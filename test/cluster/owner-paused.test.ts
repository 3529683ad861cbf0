import { afterEach, describe, expect, it } from 'vitest';
import { newId } from '../../services/job-client/index.js';
import { LtsError } from '../../shared/errors/lts-error.js';
import { epochOf } from '../checker/history.js';
import { eventually } from '../kit/eventually.js';
import type { Admin } from './admin.js';
import { Cluster, group, sessionMs } from './cluster.js';
import { conclude, readStore } from './conclude.js';
import { submitTo } from './direct-submit.js';
import { Load } from './load.js';
import { pauseAt } from './write-lock.js';

/** All attempts that were started under an epoch. */
async function attemptsOf(admin: Admin, epoch: number): Promise<string[]> {
  const rows = await readStore(admin);
  const ofEpoch = rows.flatMap(({ instance, attempts }) => attempts.filter(({ fencing_token: fence }) => epochOf(fence) === epoch).map(({ attempt }) => `${instance.instance_id}/${attempt}`));
  return ofEpoch.sort();
}

describe('the owner stands still past its session and goes on', () => {
  let cluster: Cluster;
  let load: Load;

  afterEach(async () => {
    await load.close();
    await cluster.stop();
  });

  it('paused between two commits, it commits nothing more once a higher epoch is stored', async () => {
    cluster = await Cluster.start({ trackers: 2 });
    const [a, b] = [cluster.tracker('a'), cluster.tracker('b')];
    await cluster.startWorker('w1', { workThreads: 16 });
    load = new Load(cluster);
    load.receive();
    const gate = cluster.gate();
    const running = await Promise.all(Array.from({ length: 4 }, (_, i) => load.submitted({ task_id: `running-${i}`, type: 'hold', payload: gate.path })));
    load.start(100);
    await eventually(() => cluster.witness.ends().length > 100, { what: 'work goes on' });
    const old = await a.owns();

    await pauseAt(cluster, a, 'between transactions');
    // It lies in the socket of the old owner until that goes on.
    const directId = newId();
    const direct = submitTo(a.address, { task_id: 'direct', node_group: group, type: 'quick', instance_id: directId }).catch((error: unknown) => error);
    const now = await b.owns(4 * sessionMs);
    expect(now).toBeGreaterThan(old);
    await eventually(() => cluster.witness.starts().some(({ fence }) => epochOf(fence) === now), { withinMs: 15_000, what: 'the next owner starts runs' });
    const before = await attemptsOf(b.admin, old);

    a.process.resume();
    await eventually(async () => (await a.epoch()) === undefined, { everyMs: 50, what: 'the old owner drops what it had' });
    await eventually(() => a.process.logged('owner.fenced').length + a.process.logged('owner.released').length > 0, { what: 'it says so' });
    expect(await direct).toMatchObject({ name: 'LtsError', reason: 'NOT_OWNER' });
    const again = async (): Promise<boolean> => {
      const error: unknown = await submitTo(a.address, { task_id: 'direct', node_group: group, type: 'quick', instance_id: directId }).catch((why: unknown) => why);
      return error instanceof LtsError && error.reason === 'NOT_OWNER' && error.owner === b.address;
    };
    await eventually(again, { everyMs: 100, what: 'it names the next owner' });

    gate.open();
    await cluster.allKnown();
    expect(await conclude(cluster, load)).toEqual([]);
    expect(load.failures).toEqual([]);
    await expect(b.admin.instance(directId)).rejects.toThrow('there is no instance');
    expect(await attemptsOf(b.admin, old)).toEqual(before);
    for (const id of running) expect(await b.admin.attempts(id)).toMatchObject([{ attempt: 1, outcome: 'ATTEMPT_OUTCOME_SUCCESS' }]);
    expect(await a.epoch()).toBeUndefined();
  });
});
