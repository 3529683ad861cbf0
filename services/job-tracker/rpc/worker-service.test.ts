import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { LtsError } from '../../../shared/errors/lts-error.js';
import type { Handlers } from '../../../shared/grpc/handlers.js';
import { newId } from '../../../shared/ids.js';
import { type Logger, silentLogger } from '../../../shared/log/logger.js';
import { VirtualClock } from '../../../test/kit/virtual-clock.js';
import { type WorkerParts, workerService } from './worker-service.js';

/** A tracker that owns nothing, and what it logs. */
function setUp(): { clock: VirtualClock; lines: string[]; hello: (incarnation: string) => void } {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const log: Logger = { ...silentLogger, info: (event) => void lines.push(`info ${event}`), debug: (event) => void lines.push(`debug ${event}`) };
  const ownership = {
    require: () => {
      throw new LtsError('NOT_OWNER', 'there is no owner yet', { owner: '' });
    },
  };
  // Of its parts a stream that is refused at its hello needs no others.
  const parts = { ownership, clock, log } as unknown as WorkerParts;
  const service = workerService({ duplex: (open) => open } as Handlers, parts);
  const hello = (incarnation: string): void => {
    const call = Object.assign(new EventEmitter(), { write: () => true, end: () => undefined, getPeer: () => 'w:1', getPath: () => '', resume: () => undefined, pause: () => undefined });
    (service['Work'] as unknown as (call: EventEmitter) => void)(call);
    call.emit('data', { frame: 'hello', hello: { node_id: 'w', incarnation, node_group: 'g', types: [], predecessors: [], work_threads: 1 } });
  };
  return { clock, lines, hello };
}

describe('a worker that finds no owner', () => {
  it('is told of once, and again after half a minute, however often it asks', async () => {
    const { clock, lines, hello } = setUp();
    const [one, other] = [newId(clock.now()), newId(clock.now())];
    for (let asks = 0; asks < 10; asks++) hello(one);
    expect(lines.filter((line) => line === 'info worker.refused')).toHaveLength(1);
    expect(lines.filter((line) => line === 'debug worker.refused')).toHaveLength(9);
    hello(other);
    expect(lines.filter((line) => line === 'info worker.refused')).toHaveLength(2);
    await clock.advance(30_000);
    hello(one);
    expect(lines.filter((line) => line === 'info worker.refused')).toHaveLength(3);
  });
});
