import { join } from 'node:path';
import { formatAddress } from '../../shared/config/kinds.js';
import { loadSettings } from '../../shared/config/load-settings.js';
import type { SettingFields, Settings, ValuesOf } from '../../shared/config/settings.js';
import type { Logger } from '../../shared/log/logger.js';
import { startJobClient } from '../job-client/app.js';
import { jobClientSettings } from '../job-client/config.js';
import { startJobTracker } from '../job-tracker/app.js';
import { jobTrackerSettings } from '../job-tracker/config.js';
import { TaskTracker } from '../task-tracker/index.js';
import type { StandaloneConfig } from './config.js';
import { sampleRunners } from './sample-runners.js';

/** The whole suite, running in this process. */
export interface RunningStandalone {
  /** host:port of the gateway. */
  address: string;
  /** host:port of the JobTracker. */
  trackerAddress: string;
  /** Where everything is and what to try, for the person who started it. */
  lines: readonly string[];
  /** Rejects when the tracker or the worker cannot go on. */
  closed: Promise<void>;
  /** The worker leaves first, then the gateway, then the tracker: nothing is lost on the way. */
  drain(): Promise<void>;
}

/** What the parts have in common; whatever is not said here is the part's own default. */
function withDefaults<F extends SettingFields>(settings: Settings<F>, given: Record<string, unknown>): ValuesOf<F> {
  return loadSettings(settings, { flags: given, env: {} }).values;
}

/**
 * Starts a JobTracker that is alone (a registry of its own; an SQLite store unless another is named), a gateway and a worker.
 * Errors: those of the parts; what had started by then is drained.
 */
export async function startStandalone(config: StandaloneConfig, { log }: { log: Logger }): Promise<RunningStandalone> {
  const { dataDir, insecure, store, postgresUrl } = config;
  const started: { drain(): Promise<void> }[] = [];
  const drain = async (): Promise<void> => {
    for (const part of started.splice(0).toReversed()) await part.drain();
  };
  try {
    const tracker = await startJobTracker(withDefaults(jobTrackerSettings, { listen: formatAddress(config.trackerListen), dataDir, insecure, store, postgresUrl }), { log: log.child({ part: 'job-tracker' }) });
    started.push(tracker);
    const gateway = await startJobClient(withDefaults(jobClientSettings, { listen: formatAddress(config.listen), trackers: tracker.address, dataDir, insecure }), { log: log.child({ part: 'job-client' }) });
    started.push(gateway);
    const worker = new TaskTracker({
      trackers: [tracker.address],
      nodeGroup: config.group,
      runners: config.runners ?? sampleRunners,
      workThreads: config.workThreads,
      dataDir,
      log: log.child({ part: 'task-tracker' }),
    });
    await worker.start();
    started.push(worker);
    return { address: gateway.address, trackerAddress: tracker.address, lines: describe(config, tracker.address, gateway.address), closed: Promise.race([worker.closed, tracker.closed]), drain };
  } catch (error) {
    await drain();
    throw error;
  }
}

function describe({ dataDir, group, runners, workThreads }: StandaloneConfig, tracker: string, gateway: string): string[] {
  const types = runners === undefined ? Object.keys(sampleRunners).join(', ') : `those of ${runners}`;
  const target = gateway === '127.0.0.1:7400' ? '' : ` --target ${gateway}`;
  const job = { task_id: 'hello-2', node_group: group, type: 'echo', payload: Buffer.from('world').toString('base64') };
  return [
    `  gateway (applications)  ${gateway}`,
    `  job tracker (workers)   ${tracker}`,
    `  worker                  group ${group}, ${workThreads} tasks at once, types ${types}`,
    `  data                    ${join(dataDir)}`,
    '',
    'Try in another terminal:',
    `  npx lts job submit --task-id hello --group ${group} --type echo --payload world --wait${target}`,
    `  npx buf curl --protocol grpc -d '${JSON.stringify({ job })}' http://${gateway}/lts.v1.JobService/SubmitJob`,
    `  npx lts job list${target}`,
    '',
    'Ctrl+C ends it in order.',
  ];
}
