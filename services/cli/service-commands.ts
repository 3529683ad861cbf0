import type { ServiceCommand } from './service-command.js';

/** The services that `lts` runs. */
export const serviceCommands: readonly ServiceCommand[] = [];
