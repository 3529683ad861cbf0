import { choice } from '../../shared/config/kinds.js';
import { defineSettings } from '../../shared/config/settings.js';

/** Settings that every service process has. */
export const processSettings = defineSettings({
  logLevel: { schema: choice(['silent', 'error', 'warn', 'info', 'debug']), default: 'info', description: 'How much is logged, as JSON lines on standard error.' },
});
