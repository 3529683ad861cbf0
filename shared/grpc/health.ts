import type { Server } from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';

/** Health by grpc.health.v1: "" tells that the process lives, each service whether this node may accept work. */
export class Health {
  readonly #implementation: HealthImplementation;
  readonly #services: readonly string[];

  constructor(services: readonly string[]) {
    this.#services = services;
    this.#implementation = new HealthImplementation(Object.fromEntries([['', 'SERVING'], ...services.map((service) => [service, 'NOT_SERVING'])]));
  }

  addTo(server: Server): void {
    this.#implementation.addToServer(server);
  }

  /** Sets all services at once; "" stays SERVING. */
  setServing(serving: boolean): void {
    for (const service of this.#services) this.#implementation.setStatus(service, serving ? 'SERVING' : 'NOT_SERVING');
  }
}
