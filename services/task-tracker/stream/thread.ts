import { hostname } from 'node:os';
import { type MessagePort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { ClusterWatcher } from '../../../shared/discovery/cluster-watcher.js';
import { messageOf, toLtsError } from '../../../shared/errors/lts-error.js';
import type { FailStore } from '../../../shared/failstore/fail-store.js';
import { keepTakingOver } from '../../../shared/failstore/keep-taking-over.js';
import type { Logger } from '../../../shared/log/logger.js';
import { ZooKeeperRegistry } from '../../../shared/registry/registries/zookeeper/zookeeper-registry.js';
import { openSelfSocket } from '../../../shared/self/self-socket.js';
import { systemClock } from '../../../shared/time/clock.js';
import { FailStoreLines } from '../report/line-store.js';
import { FailStoreResults } from '../report/result-store.js';
import { leave } from './leave.js';
import type { ThreadSettings, ToMain, ToStream } from './messages.js';
import { takeIdentity } from './node-identity.js';
import { portLogger } from './port-logger.js';
import { openWorkCall } from './work-call.js';
import { WorkerNode } from './worker-node.js';

/*
 * The entry of the stream thread: it holds the streams and the FailStore, so that code which blocks the main thread stops
 * neither heartbeats nor time limits. It ends after 'leave', or when the main thread ends it.
 */

/** What the thread is started with. */
export interface ThreadStart {
  port: MessagePort;
  settings: ThreadSettings;
  /** Raised before each abort, so that the main thread looks for it between two runs. */
  aborts: Int32Array;
}

const { port, settings, aborts } = workerData as ThreadStart;

function post(message: ToMain, transfer: readonly ArrayBuffer[] = []): void {
  port.postMessage(message, transfer);
  if (message.kind === 'abort') Atomics.add(aborts, 0, 1);
}

try {
  serve();
} catch (error) {
  const { reason, message } = toLtsError(error);
  post({ kind: 'fatal', reason, message: reason === 'INTERNAL' ? messageOf(error) : message });
  port.close();
}

function serve(): void {
  const log = portLogger(post);
  const { nodeId, store } = takeIdentity(settings, log);
  const { node, stop } = open(nodeId, store, log);
  const takingOver = keepTakingOver(store, systemClock, (afterSeq) => node.takeStored(afterSeq));
  let leaving = false;
  const unready = (): string => whyUnready(node, leaving);
  const self = openSelfSocket({ dataDir: settings.dataDir, service: 'task-tracker', state: () => ({ nodeId, address: '', leaving, unready: unready() }), log });
  const take = (message: ToStream): void => {
    if (message.kind !== 'leave') return node.take(message);
    leaving = true;
    takingOver.close();
    const limits = { graceMs: message.graceMs, deliverMs: settings.deliverMs };
    void leave(node, limits, systemClock)
      .catch((error: unknown) => log.error('process.failed', { what: 'leaving', error }))
      .then(async () => {
        self.close();
        await stop();
      });
  };
  port.on('message', (message: ToStream) => {
    take(message);
    // What has gathered meanwhile goes into the same frames.
    for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) take(next.message as ToStream);
    node.pump();
  });
  post({ kind: 'ready', nodeId, incarnation: settings.incarnation });
}

function open(nodeId: string, store: FailStore, log: Logger): { node: WorkerNode; stop: () => Promise<void> } {
  const { zookeeper, cluster, trackers, nodeGroup, incarnation, types, workThreads, version, failStoreBytes } = settings;
  const registry = zookeeper === undefined ? undefined : new ZooKeeperRegistry({ connect: zookeeper, cluster, log, keepTrying: true });
  registry?.start().catch((error: unknown) => log.warn('registry.failed', { error }));
  const owners = new ClusterWatcher({ trackers, log, ...(registry && { registry }) });
  const node = new WorkerNode({
    hello: {
      node_id: nodeId,
      incarnation,
      node_group: nodeGroup,
      types: [...types],
      work_threads: workThreads,
      host: hostname(),
      pid: process.pid,
      version,
    },
    predecessors: () => store.predecessors,
    owners,
    results: new FailStoreResults(store, log),
    lines: new FailStoreLines(store, failStoreBytes / 4, log),
    open: openWorkCall,
    post,
    clock: systemClock,
    log,
  });
  const stop = async (): Promise<void> => {
    owners.close();
    store.close();
    await registry?.close();
    post({ kind: 'left' });
    port.close();
  };
  return { node, stop };
}

/** Why it takes no tasks now; '' when it does. */
function whyUnready(node: WorkerNode, leaving: boolean): string {
  const { blocked } = node.pong();
  if (leaving) return 'it is leaving';
  if (node.link.owned === undefined) return `no owner of group ${settings.nodeGroup} is connected: no JobTracker answers, or none owns it yet`;
  return blocked > 0 ? `a runner has blocked the thread of the runners for ${blocked} ms` : '';
}
