import type { Server } from '@grpc/grpc-js';
import { contract, rawContract } from '../../../shared/grpc/contract.js';
import { createHandlers } from '../../../shared/grpc/handlers.js';
import { Health } from '../../../shared/grpc/health.js';
import { isLoopback } from '../../../shared/grpc/listen.js';
import { addReflection } from '../../../shared/grpc/reflection.js';
import type { Logger } from '../../../shared/log/logger.js';
import type { JobTrackerConfig } from '../config.js';
import type { TrackerCore } from '../tracker-core.js';
import { adminService } from './admin-service.js';
import { clusterService } from './cluster-service.js';
import { feedbackService } from './feedback-service.js';
import { jobService } from './job-service.js';
import { scheduleService } from './schedule-service.js';
import { workerService } from './worker-service.js';

const services = ['lts.v1.JobService', 'lts.v1.ScheduleService', 'lts.v1.WorkerService', 'lts.v1.FeedbackService', 'lts.v1.ClusterService', 'lts.v1.AdminService'];

/** Adds the tracker's services, health and reflection to the server. */
export function serve(server: Server, core: TrackerCore, config: JobTrackerConfig, log: Logger): Health {
  const handlers = createHandlers(log);
  const common = { ownership: core.ownership, clock: core.clock, log };
  server.addService(rawContract.JobService.service, jobService(handlers, core.admission, core.cancellation));
  server.addService(contract.ScheduleService.service, scheduleService(handlers, { ...common, schedules: core.schedules, store: core.status.store }));
  server.addService(rawContract.WorkerService.service, workerService(handlers, { ...common, directory: core.directory, results: core.results, logs: core.logs, groups: core.groups }));
  server.addService(contract.FeedbackService.service, feedbackService(handlers, { ...common, delivery: core.delivery, masters: core.clientMasters }));
  server.addService(contract.ClusterService.service, clusterService(handlers, core.view, log));
  server.addService(contract.AdminService.service, adminService(handlers, { ...common, ...core.status, searches: core.schedules.searches }));
  const health = new Health(services);
  health.addTo(server);
  if (config.reflection ?? isLoopback(config.listen.host)) addReflection(server, services);
  return health;
}
