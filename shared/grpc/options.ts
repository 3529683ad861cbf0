import type { ChannelOptions } from '@grpc/grpc-js';

/** Largest message in either direction: a batch of 4 MiB and its envelope. */
export const maxMessageBytes = 4 * 1024 * 1024 + 64 * 1024;

const keepalive: ChannelOptions = {
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc.max_receive_message_length': maxMessageBytes,
  'grpc.max_send_message_length': maxMessageBytes,
};

/** Options of every server: bounded messages, streams and memory per session. */
export const serverOptions: ChannelOptions = {
  ...keepalive,
  'grpc.max_concurrent_streams': 256,
  'grpc-node.max_session_memory': 64,
};

/** Options of every client: no hidden retries (ours carry ids), no proxy, dead peers are noticed. */
export const clientOptions: ChannelOptions = {
  ...keepalive,
  'grpc.enable_retries': 0,
  'grpc.enable_http_proxy': 0,
  'grpc.initial_reconnect_backoff_ms': 200,
  'grpc.min_reconnect_backoff_ms': 200,
  'grpc.max_reconnect_backoff_ms': 2_000,
};

/** A stream whose first frame does not come within so many milliseconds is cut off. */
export const helloWithinMs = 10_000;
