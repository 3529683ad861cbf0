import { jobTrackerSettings } from '../job-tracker/config.js';
import { service, type ServiceCommand } from './service-command.js';

/** The services that `lts` runs. An app is loaded only when it is started. */
export const serviceCommands: readonly ServiceCommand[] = [
  service({
    name: 'job-tracker',
    description: 'The scheduler: takes jobs in, keeps them, hands them to workers.',
    settings: jobTrackerSettings,
    load: async () => (await import('../job-tracker/app.js')).startJobTracker,
  }),
];
