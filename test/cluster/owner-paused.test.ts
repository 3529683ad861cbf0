import { afterEach, describe, expect, it } from 'vitest';
import { newId } from '../../services/job-client/index.js';
import type { Job } from '../../shared/grpc/generated/lts/v1/Job.js';
import { LtsError } from '../../shared/errors/lts-error.js';
import { epochOf } from '../checker/history.js';
import { eventually } from '../kit/eventually.js';
import type { Admin } from './admin.js';
import { Cluster, group, sessionMs } from './cluster.js';
import { conclude, readStore } from './conclude.js';
import { DirectClient } from './direct-client.js';
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
  let direct: DirectClient;
  const toDirect = (id: string): Job => ({ task_id: `direct-${id}`, node_group: group, type: 'quick', instance_id: id, ext_params: { history: cluster.history } });

  afterEach(async () => {
    direct.close();
    await load.close();
    await cluster.stop();
  });

  it('paused between two commits, it commits nothing more once a higher epoch is stored', async () => {
    cluster = await Cluster.start({ trackers: 2 });
    const [a, b] = [cluster.tracker('a'), cluster.tracker('b')];
    await cluster.startWorker('w1', { workThreads: 16 });
    load = new Load(cluster, { submitTimeout: 8_000 });
    load.receive();
    const gate = cluster.gate();
    const running = await Promise.all(Array.from({ length: 4 }, (_, i) => load.submitted({ task_id: `running-${i}`, type: 'hold', payload: gate.path })));
    load.start(100);
    await eventually(() => cluster.witness.ends().length > 100, { what: 'work goes on' });
    const old = await a.owns();

    direct = await DirectClient.connect(a.address);
    await pauseAt(cluster, a, 'between transactions');
    // They lie in the socket of the old owner until it goes on.
    const lateIds = Array.from({ length: 20 }, () => newId());
    const late = lateIds.map((id) => direct.submit(toDirect(id)));
    const now = await b.owns(4 * sessionMs);
    expect(now).toBeGreaterThan(old);
    await eventually(() => cluster.witness.starts().some(({ fence }) => epochOf(fence) === now), { withinMs: 15_000, what: 'the next owner starts runs' });
    const before = await attemptsOf(b.admin, old);

    a.process.resume();
    await eventually(async () => (await a.epoch()) === undefined, { everyMs: 50, what: 'the old owner drops what it had' });
    await eventually(() => a.process.logged('owner.fenced').length + a.process.logged('owner.released').length > 0, { what: 'it says so' });
    for (const answer of await Promise.all(late)) expect(answer).toMatchObject({ name: 'LtsError', reason: 'NOT_OWNER' });
    const namesNext = async (): Promise<boolean> => {
      const answer = await direct.submit(toDirect(newId()));
      return answer instanceof LtsError && answer.reason === 'NOT_OWNER' && answer.owner === b.address;
    };
    await eventually(namesNext, { everyMs: 100, what: 'it names the next owner' });

    gate.open();
    await cluster.allKnown();
    expect(await conclude(cluster, load)).toEqual([]);
    expect(load.failures).toEqual([]);
    for (const id of lateIds) await expect(b.admin.instance(id)).rejects.toThrow('there is no instance');
    expect(await attemptsOf(b.admin, old)).toEqual(before);
    for (const id of running) expect(await b.admin.attempts(id)).toMatchObject([{ attempt: 1, outcome: 'ATTEMPT_OUTCOME_SUCCESS' }]);
    expect(await a.epoch()).toBeUndefined();
  });
});
