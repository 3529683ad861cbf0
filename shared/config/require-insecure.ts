import { LtsError } from '../errors/lts-error.js';
import { isLoopback } from '../grpc/listen.js';
import { type Address, formatAddress } from './kinds.js';

/** Refuses to serve other machines in plain text unless that was asked for. Throws CONFIG_INVALID. */
export function requireInsecure(listen: Address, insecure: boolean): void {
  if (isLoopback(listen.host) || insecure) return;
  throw new LtsError(
    'CONFIG_INVALID',
    `listen: ${formatAddress(listen)} can be reached from other machines, without encryption and without a token; listen on 127.0.0.1, or give --insecure in a network that you trust`,
  );
}
