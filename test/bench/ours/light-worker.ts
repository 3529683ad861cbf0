import { type ClientDuplexStream, credentials } from '@grpc/grpc-js';
import { contract } from '../../../shared/grpc/contract.js';
import type { TaskResult } from '../../../shared/grpc/generated/lts/v1/TaskResult.js';
import type { WorkRequest } from '../../../shared/grpc/generated/lts/v1/WorkRequest.js';
import type { WorkResponse__Output } from '../../../shared/grpc/generated/lts/v1/WorkResponse.js';
import { newId } from '../../../shared/ids.js';
import { systemClock } from '../../../shared/time/clock.js';

/** Results and slots gather for so long. */
const gatherMs = 1;

/**
 * A worker that speaks the Work stream itself, so that hundreds of them fit into one process: the library gives every
 * worker a thread. It keeps nothing and comes back from nothing.
 */
export class LightWorker {
  readonly #incarnation = newId();
  readonly #call: ClientDuplexStream<WorkRequest, WorkResponse__Output>;
  readonly #run: () => Promise<void>;
  readonly #slots: number;
  #granted = 0;
  #sequence = 0;
  #results: TaskResult[] = [];
  #online: () => void = () => undefined;
  #gathering = false;

  /** @param run is called for every task */
  constructor(tracker: string, nodeGroup: string, slots: number, run: () => Promise<void>) {
    this.#run = run;
    this.#slots = slots;
    const client = new contract.WorkerService(tracker, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
    this.#call = client.work();
    this.#call.on('data', (frame: WorkResponse__Output) => this.#take(frame));
    this.#call.on('error', () => undefined);
    this.#call.write({ hello: { node_id: nodeGroup, incarnation: this.#incarnation, node_group: nodeGroup, work_threads: slots } });
  }

  /** Resolves when its slots are granted. */
  online(): Promise<void> {
    return new Promise((resolve) => {
      this.#online = resolve;
    });
  }

  close(): void {
    this.#call.cancel();
  }

  #take(frame: WorkResponse__Output): void {
    if (frame.ping) this.#call.write({ pong: { nonce: frame.ping.nonce } });
    if (frame.owns) {
      this.#call.write({ inventory: { end: true } });
      this.#grant(this.#slots);
      this.#online();
    }
    for (const { instance_id, attempt } of frame.tasks?.tasks ?? []) {
      void this.#run().then(() => {
        const at = systemClock.now();
        this.#results.push({ instance_id, attempt, incarnation: this.#incarnation, outcome: 'ATTEMPT_OUTCOME_SUCCESS', started_at: at, ended_at: at });
        this.#gather();
      });
    }
  }

  #gather(): void {
    if (this.#gathering) return;
    this.#gathering = true;
    systemClock.after(gatherMs, () => {
      this.#gathering = false;
      const results = this.#results;
      this.#results = [];
      this.#call.write({ results: { sequence: ++this.#sequence, results } });
      this.#grant(results.length);
    });
  }

  #grant(more: number): void {
    this.#granted += more;
    this.#call.write({ slots: { granted: this.#granted } });
  }
}
