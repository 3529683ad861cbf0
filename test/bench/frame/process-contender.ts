import type { Contender, Measurement, Work } from '../contender.js';
import { Child } from './child.js';
import { measure } from './measure.js';

/** The servers of a job system, and what its producer and its worker need to know to reach them. */
export interface Servers<ProducerSettings, WorkerSettings> {
  producer: ProducerSettings;
  worker: WorkerSettings;
  stop(): Promise<void>;
}

/** What differs between job systems. */
export interface ContenderParts<ProducerSettings, WorkerSettings> {
  name: string;
  startServers(): Promise<Servers<ProducerSettings, WorkerSettings>>;
  /** Scripts that call serveProducer and serveWorker. */
  producerScript: URL;
  workerScript: URL;
  /** Further environment of both. */
  environment?: Record<string, string>;
}

/** A contender whose producer and worker are processes of their own beside its servers. */
export class ProcessContender<ProducerSettings, WorkerSettings> implements Contender {
  readonly name: string;
  readonly #parts: ContenderParts<ProducerSettings, WorkerSettings>;
  /** What runs now, undone in reverse order by stop(). */
  readonly #undo: (() => Promise<void>)[] = [];
  #run: ((work: Work) => Promise<Measurement>) | undefined;

  constructor(parts: ContenderParts<ProducerSettings, WorkerSettings>) {
    this.name = parts.name;
    this.#parts = parts;
  }

  async start(): Promise<void> {
    const servers = await this.#parts.startServers();
    this.#undo.push(() => servers.stop());
    const producer = this.#fork(this.#parts.producerScript);
    const worker = this.#fork(this.#parts.workerScript);
    await producer.call('open', servers.producer);
    await worker.call('open', servers.worker);
    this.#run = (work) => measure(producer, worker, work);
  }

  run(work: Work): Promise<Measurement> {
    if (this.#run === undefined) throw new Error(`${this.name} is not started`);
    return this.#run(work);
  }

  async stop(): Promise<void> {
    this.#run = undefined;
    for (let undo = this.#undo.pop(); undo !== undefined; undo = this.#undo.pop()) await undo();
  }

  #fork(script: URL): Child {
    const child = new Child(script, this.#parts.environment);
    this.#undo.push(() => child.end());
    return child;
  }
}
