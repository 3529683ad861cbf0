import { jobClientSettings } from '../job-client/config.js';
import { jobTrackerSettings } from '../job-tracker/config.js';
import { standaloneSettings } from '../standalone/config.js';
import { taskTrackerSettings } from '../task-tracker/config.js';
import { service, type ServiceCommand } from './service-command.js';

/** The services that `lts` runs. An app is loaded only when it is started. */
export const serviceCommands: readonly ServiceCommand[] = [
  service({
    name: 'standalone',
    description: 'The whole suite in this process: JobTracker, gateway and a worker with samples.',
    settings: standaloneSettings,
    load: async () => (await import('../standalone/app.js')).startStandalone,
  }),
  service({
    name: 'job-client',
    description: 'The gateway: takes jobs from applications in any language, keeps what no tracker takes.',
    settings: jobClientSettings,
    load: async () => (await import('../job-client/app.js')).startJobClient,
  }),
  service({
    name: 'job-tracker',
    description: 'The scheduler: takes jobs in, keeps them, hands them to workers.',
    settings: jobTrackerSettings,
    load: async () => (await import('../job-tracker/app.js')).startJobTracker,
  }),
  service({
    name: 'task-tracker',
    description: 'A worker: runs the jobs of one group with the runners of a module.',
    settings: taskTrackerSettings,
    verb: 'works as',
    load: async () => (await import('../task-tracker/app.js')).startTaskTracker,
  }),
];
