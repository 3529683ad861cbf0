import { address, choice, duration } from '../../shared/config/kinds.js';
import { defineSettings, type SettingsOf } from '../../shared/config/settings.js';

/** What every command that calls a server takes, by option or environment. */
export const clientSettings = defineSettings({
  target: { schema: address(), default: '127.0.0.1:7400', description: 'The gateway, or a JobTracker.' },
  timeout: { schema: duration({ min: 1 }), default: '10s', description: 'Longest time for one call.' },
  output: { schema: choice(['table', 'json']), default: 'table', description: 'How data is printed.' },
});

/** The values of these. */
export type ClientConfig = SettingsOf<typeof clientSettings>;
