import type { Server, ServerWritableStream } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../../test/kit/eventually.js';
import { freePort } from '../../test/kit/ports.js';
import { contract } from '../grpc/contract.js';
import type { ClusterMap } from '../grpc/generated/lts/v1/ClusterMap.js';
import type { WatchClusterResponse } from '../grpc/generated/lts/v1/WatchClusterResponse.js';
import { createServer, listen } from '../grpc/listen.js';
import { silentLogger } from '../log/logger.js';
import { partitionOf } from '../partition.js';
import type { Registry } from '../registry/registry.js';
import { ClusterWatcher, type ClusterWatcherOptions } from './cluster-watcher.js';

type Stream = ServerWritableStream<unknown, WatchClusterResponse>;

/** A tracker that only serves WatchCluster. */
class FakeTracker {
  readonly streams = new Set<Stream>();
  readonly #server: Server = createServer();
  address = '';
  opened = 0;
  map: ClusterMap | undefined;

  async start(port = 0): Promise<this> {
    this.#server.addService(contract.ClusterService.service, {
      watchCluster: (call: Stream) => {
        this.opened++;
        this.streams.add(call);
        call.on('cancelled', () => this.streams.delete(call));
        if (this.map !== undefined) call.write({ map: this.map });
      },
    });
    this.address = `127.0.0.1:${await listen(this.#server, '127.0.0.1', port)}`;
    return this;
  }

  send(map: ClusterMap): void {
    this.map = map;
    for (const stream of this.streams) stream.write({ map });
  }

  stop(): void {
    this.#server.forceShutdown();
  }
}

function mapOf(version: number, owner: string, ...others: string[]): ClusterMap {
  const trackers = [owner, ...others].map((address) => ({ node_id: `at-${address}`, address }));
  return { version, partitions: 4, trackers, owners: [0, 1, 2, 3].map((partition) => ({ partition, node_id: `at-${owner}` })) };
}

const trackers: FakeTracker[] = [];
const watchers: ClusterWatcher[] = [];

afterEach(() => {
  for (const watcher of watchers.splice(0)) watcher.close();
  for (const tracker of trackers.splice(0)) tracker.stop();
});

async function tracker(): Promise<FakeTracker> {
  const started = await new FakeTracker().start();
  trackers.push(started);
  return started;
}

function watch(options: Partial<ClusterWatcherOptions>): ClusterWatcher {
  const watcher = new ClusterWatcher({ log: silentLogger, mapTimeoutMs: 300, ...options });
  watchers.push(watcher);
  return watcher;
}

describe('ClusterWatcher', () => {
  it('knows owners from the map, takes newer maps and ignores older ones', async () => {
    const one = await tracker();
    one.map = mapOf(5, '10.0.0.1:7401');
    const watcher = watch({ trackers: [one.address] });
    let changes = 0;
    watcher.onChange(() => changes++);
    expect(watcher.ownerOf('g')).toBeUndefined();
    await eventually(() => watcher.ownerOf('g') === '10.0.0.1:7401');
    expect(watcher.trackers).toEqual(['10.0.0.1:7401', one.address]);
    one.send(mapOf(3, '10.0.0.3:7401'));
    one.send(mapOf(6, '10.0.0.6:7401'));
    await eventually(() => watcher.map?.version === 6);
    expect(changes).toBe(3);
    expect(watcher.ownerOf('g')).toBe('10.0.0.6:7401');
  });

  it('finds the owner of each partition by the hash of the group', async () => {
    const one = await tracker();
    one.map = { ...mapOf(1, 'a:1', 'b:2'), owners: [{ partition: partitionOf('g', 4), node_id: 'at-b:2' }] };
    const watcher = watch({ trackers: [one.address] });
    await eventually(() => watcher.ownerOf('g') === 'b:2');
    const orphan = ['h', 'i', 'j', 'k', 'l'].find((group) => partitionOf(group, 4) !== partitionOf('g', 4));
    expect(orphan).toBeDefined();
    expect(watcher.ownerOf(orphan ?? '')).toBeUndefined();
  });

  it('follows hints until a newer map comes, and forgets those to dead trackers', async () => {
    const one = await tracker();
    one.map = mapOf(1, 'a:1');
    const watcher = watch({ trackers: [one.address] });
    watcher.noteOwner('g', 'early:1');
    expect(watcher.ownerOf('g')).toBe('early:1');
    await eventually(() => watcher.ownerOf('g') === 'a:1');
    watcher.noteOwner('g', 'b:2');
    watcher.noteOwner('g', '');
    watcher.noteOwner('g', 'unix:/etc/passwd');
    expect(watcher.ownerOf('g')).toBe('b:2');
    watcher.noteUnreachable('b:2');
    expect(watcher.ownerOf('g')).toBe('a:1');
    watcher.noteOwner('g', 'b:2');
    watcher.forgetOwner('b:2');
    expect(watcher.ownerOf('g')).toBe('a:1');
    watcher.forgetOwner(one.address);
    expect(one.streams.size).toBe(1);
    watcher.noteOwner('g', 'b:2');
    one.send(mapOf(2, 'c:3'));
    await eventually(() => watcher.ownerOf('g') === 'c:3');
  });

  it('goes to the next tracker when one is silent, refuses or ends', async () => {
    const silent = await tracker();
    const good = await tracker();
    good.map = mapOf(1, 'a:1');
    const watcher = watch({ trackers: [silent.address, `127.0.0.1:${await freePort()}`, good.address] });
    await eventually(() => watcher.connected);
    expect(silent.opened).toBe(1);
    silent.map = mapOf(2, 'b:2');
    for (const stream of good.streams) stream.end();
    good.stop();
    await eventually(() => watcher.ownerOf('g') === 'b:2');
  });

  it('leaves a tracker that does not answer calls for another one, although its stream is open', async () => {
    const [first, second] = [await tracker(), await tracker()];
    first.map = mapOf(1, first.address, second.address);
    second.map = mapOf(2, second.address, first.address);
    const watcher = watch({ trackers: [first.address, second.address] });
    await eventually(() => watcher.ownerOf('g') === first.address);
    watcher.noteUnreachable(second.address);
    expect(first.streams.size).toBe(1);
    watcher.noteUnreachable(first.address);
    await eventually(() => watcher.ownerOf('g') === second.address);
    await eventually(() => first.streams.size === 0);
  });

  it('comes back to a tracker that was away', async () => {
    const port = await freePort();
    const watcher = watch({ trackers: [`127.0.0.1:${port}`] });
    const late = new FakeTracker();
    trackers.push(late);
    late.map = mapOf(1, 'a:1');
    await late.start(port);
    await eventually(() => watcher.connected);
    late.stop();
    await eventually(() => !watcher.connected);
    const again = new FakeTracker();
    trackers.push(again);
    again.map = mapOf(2, 'b:2');
    await again.start(port);
    await eventually(() => watcher.connected);
    expect(watcher.ownerOf('g')).toBe('b:2');
  });

  it('believes smaller versions once they stay', async () => {
    const one = await tracker();
    one.map = mapOf(9, 'a:1');
    const watcher = watch({ trackers: [one.address], settleMs: 200 });
    await eventually(() => watcher.map?.version === 9);
    one.send(mapOf(1, 'b:2'));
    await eventually(() => watcher.map?.version === 1);
    expect(watcher.ownerOf('g')).toBe('b:2');
  });

  it('learns trackers from the registry, later ones too', async () => {
    const one = await tracker();
    one.map = mapOf(1, 'a:1');
    let tell: ((members: never[]) => void) | undefined;
    const registry: Pick<Registry, 'watchMembers'> = {
      watchMembers: (kind, listener) => {
        expect(kind).toBe('job-tracker');
        tell = listener;
        return { close: () => undefined };
      },
    };
    const watcher = watch({ registry });
    expect(watcher.trackers).toEqual([]);
    tell?.([{ address: one.address }, { address: 'not an address' }] as never[]);
    expect(watcher.trackers).toEqual([one.address]);
    await eventually(() => watcher.connected);
  });
});
