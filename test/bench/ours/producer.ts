import { JobClient } from '../../../services/job-client/index.js';
import { type BenchJob, serveProducer } from '../frame/producer.js';
import { type LtsSettings, nodeGroupOf } from './settings.js';

/** Only this outcome is a durable job of the scheduler's own store. */
const accepted = 'SUBMIT_OUTCOME_ACCEPTED';

serveProducer(async ({ trackers, groups }: LtsSettings) => {
  // Without a FailStore: a job that the tracker does not take fails the benchmark. The queue to it may be long.
  const client = new JobClient({ trackers, submitTimeout: 60_000 });
  return {
    async submit(jobs) {
      const [first, ...others] = jobs.map((job) => toJob(job, groups));
      if (first === undefined) return;
      const results = others.length === 0 ? [await client.submit(first)] : await client.submitMany([first, ...others]);
      const refused = results.find(({ outcome }) => outcome !== accepted);
      if (refused !== undefined) throw new Error(`a job was not accepted: ${refused.outcome} ${refused.reason ?? ''} ${refused.message ?? ''}`);
    },
    close: () => client.close(),
  };
});

const toJob = ({ number, payload }: BenchJob, groups: number) => ({ task_id: String(number), node_group: nodeGroupOf(number, groups), payload });
