import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { LtsError, messageOf } from '../../../shared/errors/lts-error.js';
import type { Runners } from './runner.js';

/** The URL of a module that is given as a path (from the current folder) or a URL. */
export function runnersUrl(module: string | URL): string {
  if (module instanceof URL) return module.href;
  return module.startsWith('file:') ? module : pathToFileURL(resolve(module)).href;
}

/** The runners that a module exports, as `runners` or as its default. Errors: CONFIG_INVALID. */
export async function loadRunners(url: string): Promise<Runners> {
  if (url.startsWith('file:') && !existsSync(fileURLToPath(url))) throw new LtsError('CONFIG_INVALID', `runners: there is no such file: ${fileURLToPath(url)}`);
  let module: { default?: unknown; runners?: unknown };
  try {
    module = (await import(url)) as typeof module;
  } catch (error) {
    throw new LtsError('CONFIG_INVALID', `runners: ${url} cannot be loaded: ${messageOf(error)}`, { cause: error });
  }
  const runners = module.runners ?? module.default;
  if (runners === undefined || runners === null || (typeof runners !== 'object' && typeof runners !== 'function')) {
    throw new LtsError('CONFIG_INVALID', `runners: ${url} exports no runners; export functions by job type as \`runners\` or as its default`);
  }
  return runners as Runners;
}
