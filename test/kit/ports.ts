import { createServer } from 'node:net';

/** A TCP port of 127.0.0.1 that is free right now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => (address !== null && typeof address === 'object' ? resolve(address.port) : reject(new Error('no port'))));
    });
  });
}

/**
 * A free port that nobody gets by chance while its server is down: the system gives outgoing connections, such as those
 * of clients that look for the server, ports from 32768 on.
 */
export function lastingPort(): Promise<number> {
  return new Promise((resolve) => {
    const port = 15_000 + Math.floor(Math.random() * 15_000);
    const server = createServer();
    server.once('error', () => resolve(lastingPort()));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(port)));
  });
}
