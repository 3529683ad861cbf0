import type { ServerWritableStream, UntypedHandleCall } from '@grpc/grpc-js';
import { LtsError } from '../../../shared/errors/lts-error.js';
import type { WatchClusterRequest__Output } from '../../../shared/grpc/generated/lts/v1/WatchClusterRequest.js';
import type { WatchClusterResponse } from '../../../shared/grpc/generated/lts/v1/WatchClusterResponse.js';
import { failStream, type Handlers } from '../../../shared/grpc/handlers.js';
import type { Logger } from '../../../shared/log/logger.js';
import type { ClusterView } from '../lead/cluster-view.js';

/**
 * ClusterService: the map to whoever watches. A watcher that reads slowly gets only the newest map. One that would be
 * shown an old map is sent to another tracker.
 */
export function clusterService(handlers: Handlers, view: ClusterView, log: Logger): Record<string, UntypedHandleCall> {
  return {
    WatchCluster: handlers.serverStream<WatchClusterRequest__Output, WatchClusterResponse>((call: ServerWritableStream<WatchClusterRequest__Output, WatchClusterResponse>) => {
      let full = false;
      let missed = false;
      const send = (): void => {
        if (view.stale) {
          stop();
          return failStream(call as never, stale(), log);
        }
        missed = full;
        if (!full) full = !call.write({ map: view.map });
      };
      if (view.stale) throw stale();
      const stop = view.onChange(send);
      call.on('drain', () => {
        full = false;
        if (missed) send();
      });
      call.on('cancelled', stop);
      call.on('close', stop);
      call.on('error', stop);
      send();
    }) as UntypedHandleCall,
  };
}

function stale(): LtsError {
  return new LtsError('REGISTRY_UNAVAILABLE', 'this tracker does not reach the registry and owns nothing: its map may be old; watch another tracker');
}
