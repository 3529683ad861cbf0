import type { Server } from '@grpc/grpc-js';
import { LtsError } from '../../../shared/errors/lts-error.js';
import { contract, rawContract } from '../../../shared/grpc/contract.js';
import { createHandlers } from '../../../shared/grpc/handlers.js';
import { Health } from '../../../shared/grpc/health.js';
import { isLoopback } from '../../../shared/grpc/listen.js';
import { addReflection } from '../../../shared/grpc/reflection.js';
import type { Logger } from '../../../shared/log/logger.js';
import type { JobClientConfig } from '../config.js';
import type { Core } from '../core.js';
import { adminProxy, adminProxyDefinition } from './admin-proxy.js';
import { failStoreService } from './fail-store-service.js';
import { FeedbackRelays } from './feedback-relay.js';
import { jobService } from './job-service.js';
import { scheduleProxy, scheduleProxyDefinition } from './schedule-proxy.js';

const services = ['lts.v1.JobService', 'lts.v1.FeedbackService', 'lts.v1.ScheduleService', 'lts.v1.AdminService', 'lts.v1.FailStoreService'];

/** The served gateway. */
export interface Serving {
  health: Health;
  /** Refuses new work with DRAINING and ends the receivers. */
  stopTaking(): void;
}

/** Adds all services of the gateway to the server. */
export function serve(server: Server, core: Core, config: JobClientConfig, log: Logger): Serving {
  let leaving = false;
  const accepting = (): void => {
    if (leaving) throw new LtsError('DRAINING', 'this gateway is leaving; call another one with the same ids');
  };
  const handlers = createHandlers(log);
  const relays = new FeedbackRelays(core, log);
  server.addService(rawContract.JobService.service, jobService(handlers, core, accepting));
  server.addService(contract.FeedbackService.service, relays.service(handlers));
  server.addService(scheduleProxyDefinition, scheduleProxy(handlers, core));
  server.addService(adminProxyDefinition, adminProxy(handlers, core));
  if (core.outbox !== undefined) server.addService(contract.FailStoreService.service, failStoreService(handlers, core.outbox.store, () => core.wakeDrain()));
  const health = new Health(services);
  health.addTo(server);
  if (config.reflection ?? isLoopback(config.listen.host)) addReflection(server, services);
  return {
    health,
    stopTaking: () => {
      leaving = true;
      relays.closeAll();
    },
  };
}
