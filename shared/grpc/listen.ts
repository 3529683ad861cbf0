import { logVerbosity, Server, ServerCredentials, setLogVerbosity } from '@grpc/grpc-js';
import { LtsError } from '../errors/lts-error.js';
import { type Clock, systemClock } from '../time/clock.js';
import { serverOptions } from './options.js';

/** A server with the options that every server here has. */
export function createServer(): Server {
  // What the library would print by itself comes back as errors, which are told in our words.
  setLogVerbosity(logVerbosity.NONE);
  return new Server(serverOptions);
}

/** Whether only this machine can reach the host. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/** What the system said, in plain words. */
function whyNot(message: string): string {
  if (message.includes('EADDRINUSE')) return 'another process listens there';
  if (message.includes('EADDRNOTAVAIL')) return 'it is no address of this machine';
  if (message.includes('EACCES')) return 'this user may not';
  return message;
}

/** Binds and serves. Resolves with the port, which the system chose when 0 was asked for. */
export function listen(server: Server, host: string, port: number): Promise<number> {
  const target = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return new Promise((resolve, reject) => {
    server.bindAsync(target, ServerCredentials.createInsecure(), (error, bound) => {
      if (error) reject(new LtsError('CONFIG_INVALID', `cannot listen on ${target}: ${whyNot(error.message)}; choose another address`, { cause: error }));
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
