import { Server, ServerCredentials } from '@grpc/grpc-js';
import { LtsError } from '../errors/lts-error.js';
import { type Clock, systemClock } from '../time/clock.js';
import { serverOptions } from './options.js';

/** A server with the options that every server here has. */
export function createServer(): Server {
  return new Server(serverOptions);
}

/** Whether only this machine can reach the host. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/** Binds and serves. Resolves with the port, which the system chose when 0 was asked for. */
export function listen(server: Server, host: string, port: number): Promise<number> {
  const target = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return new Promise((resolve, reject) => {
    server.bindAsync(target, ServerCredentials.createInsecure(), (error, bound) => {
      if (error) reject(new LtsError('CONFIG_INVALID', `cannot listen on ${target}: ${error.message}; choose another --listen`, { cause: error }));
      else resolve(bound);
    });
  });
}

/** Lets open calls finish for graceMs, then ends them. */
export async function shutDown(server: Server, graceMs: number, clock: Clock = systemClock): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = clock.after(graceMs, () => {
      server.forceShutdown();
      resolve();
    });
    server.tryShutdown(() => {
      timer.cancel();
      resolve();
    });
  });
}
