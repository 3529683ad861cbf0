import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { silentLogger } from '../../../shared/log/logger.js';
import { settle, VirtualClock } from '../../../test/kit/virtual-clock.js';
import type { TrackerClients } from '../discover/tracker-clients.js';
import { FeedbackStreams } from './feedback-streams.js';

type Call = EventEmitter & { end: () => void; cancel: () => void };

/** A tracker that refuses every stream unless told otherwise, and a map that can change. */
function bench(answer: (call: Call) => void = (call) => call.emit('error', new Error('refused'))) {
  let opened = 0;
  const clock = new VirtualClock();
  const watchFeedback = (): unknown => {
    opened++;
    const call = Object.assign(new EventEmitter(), { write: () => true, end: () => undefined, cancel: () => undefined });
    queueMicrotask(() => answer(call));
    return call;
  };
  const clients = { at: () => ({ feedback: { watchFeedback } }) } as unknown as TrackerClients;
  const listeners: (() => void)[] = [];
  const router = {
    trackers: ['a:1'],
    live: ['a:1'],
    connected: true,
    mapVersion: 1,
    ownerOf: () => undefined,
    noteOwner: () => undefined,
    noteUnreachable: () => undefined,
    onChange: (listener: () => void) => (listeners.push(listener), { close: () => undefined }),
    close: () => undefined,
  };
  const hello = { submit_node_group: 'g', client_id: 'c', max_in_flight: 1 };
  const streams = new FeedbackStreams({ router, clients, clock, log: silentLogger, hello, onResults: () => undefined, onMaster: () => undefined, masterToken: () => 0, clientTime: () => 0 });
  const changed = async (): Promise<number> => {
    for (const listener of listeners) listener();
    await settle();
    return opened;
  };
  return { router, streams, clock, changed, opened: () => opened };
}

describe('FeedbackStreams', () => {
  it('tries again at once for a new map and for a tracker that answers again, not for what one call learned', async () => {
    const { router, streams, changed, opened } = bench();
    await settle();
    expect(opened()).toBe(1);
    expect([await changed(), await changed()]).toEqual([1, 1]);
    router.mapVersion = 2;
    expect(await changed()).toBe(2);
    router.connected = false;
    expect(await changed()).toBe(3);
    await streams.close();
  });

  it('waits 3 s for a tracker that is left and does not end the stream, and not at all for one that never answered', async () => {
    const left: string[] = [];
    const silent = bench((call) => {
      call.end = () => void left.push('half-closed');
      call.cancel = () => void left.push('cancelled');
      call.emit('data', { results: [] });
    });
    await settle();
    void silent.streams.close().then(() => left.push('closed'));
    await silent.clock.advance(2_999);
    expect(left).toEqual(['half-closed']);
    await silent.clock.advance(1);
    expect(left).toEqual(['half-closed', 'cancelled', 'closed']);
    const unknown = bench(() => undefined);
    await settle();
    await unknown.streams.close();
  });
});
