import { formatAddress, parseAddress } from '../../../shared/config/kinds.js';
import { loadSettings } from '../../../shared/config/load-settings.js';
import type { SettingFields } from '../../../shared/config/settings.js';
import { connectionText } from '../../../shared/errors/connection-text.js';
import { LtsError } from '../../../shared/errors/lts-error.js';
import { checkHealth } from '../../../shared/grpc/health-client.js';
import { type AskedProcess, askProcesses } from '../../../shared/self/ask.js';
import { selfFolder } from '../../../shared/self/place.js';
import { systemClock } from '../../../shared/time/clock.js';
import type { ClientHandler } from '../command.js';
import { processSettings } from '../process-settings.js';
import { serviceCommands } from '../service-commands.js';
import { UsageError } from '../usage-error.js';

interface CheckOptions {
  self: boolean;
  ready: boolean;
  dataDir: string | undefined;
  config: string | undefined;
}

/** One node and what is wrong with it; '' when nothing is. */
interface Finding {
  service: string;
  node: string;
  pid: number | '';
  address: string;
  problem: string;
}

/** What is asked for, and until when (wall time). */
interface Question {
  ready: boolean;
  deadline: number;
  timeoutMs: number;
}

/**
 * lts node check. A node lives when it answers, whatever it waits for: only then would a restart help. It is ready when
 * it takes work now. One that leaves lives, and is not ready.
 */
export const checkNode: ClientHandler<CheckOptions> = async ({ options, target, timeoutMs, output }) => {
  const question = { ready: options.ready, deadline: systemClock.now() + timeoutMs, timeoutMs };
  const findings = options.self ? await checkSelf(options, question) : [await checkServer({ service: '', node: '', pid: '' }, target.address, question)];
  output.data(findings, () => ({
    head: ['service', 'node', 'pid', 'address', options.ready ? 'ready' : 'lives', 'why not'],
    rows: findings.map(({ service, node, pid, address, problem }) => [service, node, pid, address, problem === '' ? 'yes' : 'NO', problem]),
  }));
  return findings.every(({ problem }) => problem === '') ? 'ok' : 'failed';
};

async function checkSelf(options: CheckOptions, question: Question): Promise<Finding[]> {
  const { dataDir, folder } = placeOf(options);
  const asked = await askProcesses(folder, question.timeoutMs);
  if (asked.length > 0) return Promise.all(asked.map((process) => judge(process, question)));
  return [{ service: '', node: '', pid: '', address: '', problem: `no service of this host has the data folder ${dataDir}; start one, or name its folder with --data-dir or LTS_DATA_DIR` }];
}

async function judge({ service, pid, answer }: AskedProcess, question: Question): Promise<Finding> {
  const finding = { service, node: '', pid, address: '' };
  switch (answer.kind) {
    case 'silent':
      return { ...finding, problem: `it does not answer within ${question.timeoutMs} ms: it stands still, or its thread hangs` };
    case 'dead':
      return { ...finding, problem: 'it is gone, and did not leave in order' };
    case 'failed':
      return { ...finding, problem: answer.why };
    case 'gone':
      return { ...finding, problem: 'it has left' };
    case 'state': {
      const { nodeId: node, address, leaving, unready } = answer.state;
      const known = { ...finding, node, address };
      // A server that leaves closes its port before it ends.
      if (leaving) return { ...known, problem: question.ready ? 'it is leaving' : '' };
      return address === '' ? { ...known, problem: question.ready ? unready : '' } : checkServer(known, address, question);
    }
  }
}

/** Asks its port: the service "" tells that it lives, JobService whether it takes work. */
async function checkServer(known: Omit<Finding, 'problem' | 'address'>, address: string, { ready, deadline, timeoutMs }: Question): Promise<Finding> {
  try {
    const status = await checkHealth(reachable(address), ready ? 'lts.v1.JobService' : '', deadline);
    return { ...known, address, problem: status === 'SERVING' ? '' : `its health is ${status}: it stands by, takes over or leaves; see lts cluster` };
  } catch (error) {
    if (!(error instanceof LtsError)) throw error;
    const why = error.reason === 'DEADLINE_PASSED' ? `its port does not answer within ${timeoutMs} ms` : `its port does not answer: ${connectionText(error.message)}`;
    return { ...known, address, problem: why };
  }
}

/** Who listens on all addresses is asked on loopback. */
function reachable(address: string): string {
  const parsed = parseAddress(address);
  const loopback = { '0.0.0.0': '127.0.0.1', '::': '::1' }[parsed?.host ?? ''];
  return parsed === undefined || loopback === undefined ? address : formatAddress({ host: loopback, port: parsed.port });
}

/** The data folder as the services read it, whichever service it is, and the folder of the sockets in it. */
function placeOf(options: CheckOptions): { dataDir: string; folder: string } {
  const fields = Object.assign({}, processSettings.fields, ...serviceCommands.map((service) => service.settings.fields)) as SettingFields;
  try {
    const { values } = loadSettings({ fields, checks: [] }, { flags: { dataDir: options.dataDir }, file: options.config, allowMissing: true });
    const dataDir = values['dataDir'] as string;
    return { dataDir, folder: selfFolder(dataDir) };
  } catch (error) {
    throw error instanceof LtsError ? new UsageError(error.message) : error;
  }
}
