import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../kit/eventually.js';
import { ServiceProcess } from '../kit/service-process.js';
import { freePort } from '../kit/ports.js';
import { Cluster } from './cluster.js';
import { conclude } from './conclude.js';
import { Load } from './load.js';

const count = 20;

describe('all trackers are away while clients submit', () => {
  let cluster: Cluster;
  let library: Load;
  let viaGateway: Load;
  let gateway: ServiceProcess;

  afterEach(async () => {
    await library.close();
    await viaGateway.close();
    gateway.kill();
    await cluster.stop();
  });

  it('library and gateway keep the jobs on their disk, and each runs once when a tracker is back', async () => {
    cluster = await Cluster.start();
    const a = cluster.tracker('a');
    await cluster.startWorker('w1');
    const gatewayAddress = `127.0.0.1:${await freePort()}`;
    const startGateway = async (): Promise<void> => {
      gateway = new ServiceProcess([
        ...['job-client', '--listen', gatewayAddress, '--node-id', 'gateway', '--data-dir', join(cluster.folder, 'gateway')],
        ...['--trackers', a.address, '--submit-timeout', '300ms'],
      ]);
      await gateway.address();
    };
    await startGateway();
    library = new Load(cluster, { dataDir: join(cluster.folder, 'library'), nodeId: 'library', submitTimeout: 300 });
    viaGateway = new Load(cluster, { gateway: gatewayAddress, nodeId: 'caller', submitTimeout: 10_000 });
    library.receive();
    const submitBoth = async (from: number, to: number): Promise<void> => {
      for (let i = from; i < to; i++) await Promise.all([library.submit({ task_id: `library-${i}` }), viaGateway.submit({ task_id: `gateway-${i}` })]);
    };
    await submitBoth(0, 5);
    const outcomes = (load: Load, from: number): (string | undefined)[] => [...new Set(load.acked.slice(from).map(({ outcome }) => String(outcome)))];
    expect([outcomes(library, 0), outcomes(viaGateway, 0)]).toEqual([['SUBMIT_OUTCOME_ACCEPTED'], ['SUBMIT_OUTCOME_ACCEPTED']]);

    await a.kill();
    await submitBoth(5, 5 + count / 2);
    gateway.kill();
    await gateway.exited();
    await startGateway();
    await submitBoth(5 + count / 2, 5 + count);
    expect([outcomes(library, 5), outcomes(viaGateway, 5)]).toEqual([['SUBMIT_OUTCOME_STORED_LOCALLY'], ['SUBMIT_OUTCOME_STORED_LOCALLY']]);
    expect([library.failures, viaGateway.failures]).toEqual([[], []]);

    await a.start();
    await eventually(() => library.results.size === 2 * (5 + count), { withinMs: 30_000, what: 'all results are there' });
    const later = await Promise.all([library.submit({ task_id: 'library-later' }), viaGateway.submit({ task_id: 'gateway-later' })]);
    expect(later.map((result) => result?.outcome)).toEqual(['SUBMIT_OUTCOME_ACCEPTED', 'SUBMIT_OUTCOME_ACCEPTED']);
    expect(await conclude(cluster, library)).toEqual([]);
    const starts = cluster.witness.starts().map(({ task }) => task);
    expect(starts).toHaveLength(2 * (5 + count) + 2);
    expect(new Set(starts).size).toBe(starts.length);
  });
});
