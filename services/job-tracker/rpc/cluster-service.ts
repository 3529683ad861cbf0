import type { ServerWritableStream, UntypedHandleCall } from '@grpc/grpc-js';
import type { WatchClusterRequest__Output } from '../../../shared/grpc/generated/lts/v1/WatchClusterRequest.js';
import type { WatchClusterResponse } from '../../../shared/grpc/generated/lts/v1/WatchClusterResponse.js';
import type { Handlers } from '../../../shared/grpc/handlers.js';
import type { ClusterView } from '../lead/cluster-view.js';

/** ClusterService: the map to whoever watches. A watcher that reads slowly gets only the newest map. */
export function clusterService(handlers: Handlers, view: ClusterView): Record<string, UntypedHandleCall> {
  return {
    WatchCluster: handlers.serverStream<WatchClusterRequest__Output, WatchClusterResponse>((call: ServerWritableStream<WatchClusterRequest__Output, WatchClusterResponse>) => {
      let full = false;
      let missed = false;
      const send = (): void => {
        missed = full;
        if (!full) full = !call.write({ map: view.map });
      };
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
