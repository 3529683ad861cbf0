import type { Contender } from '../contender.js';
import { ProcessContender } from '../frame/process-contender.js';
import type { LtsSettings } from '../ours/settings.js';
import { startTrackers, type TrackersOptions } from '../ours/servers.js';

const workThreads = 1_000;

/** Our own services: the trackers as users start them, and the two libraries in processes of their own. */
export function lts(options: TrackersOptions & { groups: number }): Contender {
  return new ProcessContender<LtsSettings, LtsSettings>({
    name: 'light-task-scheduler',
    startServers: async () => {
      const { addresses, folder, stop } = await startTrackers(options);
      const settings: LtsSettings = { trackers: addresses, folder, groups: options.groups, workThreads };
      return { producer: settings, worker: settings, stop };
    },
    producerScript: new URL('../ours/producer.js', import.meta.url),
    workerScript: new URL('../ours/worker.js', import.meta.url),
  });
}
