import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../kit/eventually.js';
import { SmallDisk } from '../kit/small-disk.js';
import { Cluster } from './cluster.js';
import { conclude } from './conclude.js';
import { Load } from './load.js';

const mib = 1024 * 1024;
const reserve = 8 * mib;
/** Runs with long messages, together more than a full disk takes in its files as they are. */
const count = 150;
const messageLength = 60_000;

describe('the disk of the store gets full', () => {
  let disk: SmallDisk;
  let cluster: Cluster;
  let load: Load;

  beforeEach(() => {
    disk = new SmallDisk(32);
    mkdirSync(join(disk.folder, 'store'));
  });

  afterEach(async () => {
    try {
      await load.close();
      await cluster.stop();
    } finally {
      disk.close();
    }
  });

  it('submits are refused before it is, running work ends well after space was freed', async () => {
    cluster = await Cluster.start({ dataDir: join(disk.folder, 'store'), trackerArgs: ['--disk-reserve', `${reserve / mib}MiB`] });
    const { admin, process: tracker } = cluster.tracker('a');
    const worker = await cluster.startWorker('w1', { workThreads: count });
    load = new Load(cluster, { submitTimeout: 3_000 });
    load.receive();
    const gate = cluster.gate();
    const running = await Promise.all(Array.from({ length: count }, () => load.submitted({ type: 'hold', payload: gate.path, ext_params: { message_length: `${messageLength}` } })));
    await eventually(() => cluster.witness.starts().length === count, { what: 'they run' });

    disk.fill(reserve / 2);
    await eventually(async () => (await load.submit()) === undefined, { everyMs: 50, what: 'a submit is refused' });
    expect(load.failures.at(-1)).toContain('free disk space');
    expect(disk.freeBytes).toBeGreaterThan(mib);

    // Now it is full for the work that goes on, too.
    disk.fill(0);
    gate.open();
    await eventually(() => cluster.witness.ends().length === count, { what: 'the runs have ended' });
    await eventually(() => worker.logged('failstore.stored').length > 0, { what: 'the worker keeps results that found no room' });
    expect((await admin.instances()).some(({ state }) => state === 'INSTANCE_STATE_EXECUTING')).toBe(true);
    disk.free();
    await eventually(() => load.results.size >= count, { withinMs: 20_000, what: 'the results are stored and delivered' });
    await eventually(async () => (await load.submit()) !== undefined, { everyMs: 200, what: 'submits are taken again' });

    expect(await conclude(cluster, load)).toEqual([]);
    for (const id of running) expect(await admin.attempts(id)).toMatchObject([{ attempt: 1, outcome: 'ATTEMPT_OUTCOME_SUCCESS' }]);
    expect(tracker.logged('store.disk_low').length).toBeGreaterThan(0);
    expect((await admin.cluster()).store).toBe('OK');
  });
});
