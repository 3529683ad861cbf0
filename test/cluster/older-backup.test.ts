import { execFile } from 'node:child_process';
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { packageRoot } from '../../shared/package-root.js';
import { eventually } from '../kit/eventually.js';
import { Cluster } from './cluster.js';
import { Load } from './load.js';

const run = promisify(execFile);

describe('an older backup of the store is restored while a worker stays', () => {
  let cluster: Cluster;
  let load: Load;

  afterEach(async () => {
    await load.close();
    await cluster.stop();
  });

  it('the worker, which remembers newer owners, follows it without a restart', async () => {
    cluster = await Cluster.start();
    const a = cluster.tracker('a');
    const worker = await cluster.startWorker('w1');
    load = new Load(cluster);
    const folder = join(cluster.folder, 'store');
    const store = (...args: string[]): Promise<unknown> => run(process.execPath, [join(packageRoot, 'dist/services/cli/main.js'), 'store', ...args, '--data-dir', folder]);
    const copy = join(cluster.folder, 'copy.db');
    await store('backup', '--file', copy);
    for (let restarts = 0; restarts < 3; restarts++) {
      await a.kill();
      await a.start();
      await load.submitted({ task_id: `later-${restarts}` });
      await eventually(() => cluster.witness.ends().length > restarts, { what: 'the worker follows the next owner' });
    }
    await a.kill();
    for (const end of ['', '-wal', '-shm']) rmSync(join(folder, `queue.db${end}`), { force: true });
    copyFileSync(copy, join(folder, 'queue.db'));

    await store('adopt');
    await a.start();
    const id = await load.submitted({ task_id: 'restored' });
    await eventually(async () => (await a.admin.instances()).some((each) => each.instance_id === id && each.state === 'INSTANCE_STATE_SUCCEEDED'), { withinMs: 30_000, what: 'the worker runs a job of the restored store' });
    expect((await a.admin.instances()).length).toBe(1);
    expect(worker.ended).toBeUndefined();
    expect(worker.logged('task.refused')).toEqual([]);
  });
});
