import { effectiveSettings } from '../../../shared/config/describe-settings.js';
import { LtsError } from '../../../shared/errors/lts-error.js';
import type { ExitName } from '../exit-codes.js';
import { formatRows, type Output } from '../output.js';
import { loadServiceSettings, type ServiceFlags, settingsOf } from '../serve.js';
import type { ServiceCommand } from '../service-command.js';
import { UsageError } from '../usage-error.js';

/** lts config: the settings in force of one service or of all. */
export function showConfig(name: string | undefined, services: readonly ServiceCommand[], given: ServiceFlags, output: Output): ExitName {
  const wanted = services.filter((service) => name === undefined || service.name === name);
  if (wanted.length === 0) throw new UsageError(`there is no service ${name}; there are ${services.map((service) => service.name).join(', ')}`);
  // What is wrong for several services, such as a file that cannot be read, is told once.
  const wrong = new Map<string, string[]>();
  const shown: Record<string, ReturnType<typeof effectiveSettings>> = {};
  for (const service of wanted) {
    try {
      shown[service.name] = effectiveSettings(settingsOf(service), loadServiceSettings(service, given));
    } catch (error) {
      if (!(error instanceof LtsError)) throw error;
      wrong.set(error.message, [...(wrong.get(error.message) ?? []), service.name]);
    }
  }
  for (const [problems, names] of wrong) output.message(`${names.join(', ')}: the settings are wrong\n${problems.replaceAll(/^/gm, '  ')}`);
  output.data(shown, () =>
    Object.entries(shown)
      .map(([service, settings]) => `${service}\n${formatRows({ head: ['key', 'value', 'source'], rows: settings.map(({ key, value, source }) => [key, value, source]) })}`)
      .join('\n\n'),
  );
  return wrong.size > 0 ? 'config' : 'ok';
}
