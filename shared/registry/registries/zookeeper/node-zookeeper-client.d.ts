/** The part of node-zookeeper-client 1.1.3 that is used here, internals included: they are what makes it safe to use. */
declare module 'node-zookeeper-client' {
  import type { Socket } from 'node:net';

  interface ZooKeeperStat {
    version: number;
    czxid: Buffer;
    ephemeralOwner: Buffer;
  }
  interface ZooKeeperException extends Error {
    code: number;
  }
  type Failure = ZooKeeperException | null | undefined;
  interface ZooKeeperTransaction {
    create(path: string, data: Buffer, mode: number): ZooKeeperTransaction;
    setData(path: string, data: Buffer, version: number): ZooKeeperTransaction;
    remove(path: string, version: number): ZooKeeperTransaction;
    commit(callback: (error: Failure) => void): void;
  }
  /** Private in the library: one TCP connection at a time, with its codec and its queues. */
  interface ConnectionManager {
    state: number;
    xid: number;
    zxid: Buffer;
    socket: Socket | undefined;
    connectTimeoutHandler: NodeJS.Timeout | null;
    findNextServer(callback: (server: { host: string; port: number }) => void): void;
    onSocketData(buffer: Buffer): void;
  }
  interface ZooKeeperClient {
    connectionManager: ConnectionManager;
    connect(): void;
    close(): void;
    on(event: 'connected' | 'expired' | 'authenticationFailed', listener: () => void): void;
    getSessionId(): Buffer;
    getSessionPassword(): Buffer;
    getSessionTimeout(): number;
    create(path: string, data: Buffer, mode: number, callback: (error: Failure, path: string) => void): void;
    remove(path: string, version: number, callback: (error: Failure) => void): void;
    setData(path: string, data: Buffer, version: number, callback: (error: Failure, stat: ZooKeeperStat) => void): void;
    exists(path: string, watcher: (() => void) | undefined, callback: (error: Failure, stat: ZooKeeperStat | null) => void): void;
    getData(path: string, watcher: (() => void) | undefined, callback: (error: Failure, data: Buffer | undefined, stat: ZooKeeperStat) => void): void;
    getChildren(path: string, watcher: (() => void) | undefined, callback: (error: Failure, children: string[]) => void): void;
    transaction(): ZooKeeperTransaction;
  }
  function createClient(
    connectionString: string,
    options: { sessionTimeout: number; spinDelay: number; retries: number; sessionId?: Buffer; sessionPassword?: Buffer },
  ): ZooKeeperClient;
  const CreateMode: { PERSISTENT: number; EPHEMERAL: number; EPHEMERAL_SEQUENTIAL: number };
  const Exception: Record<string, unknown>;
}
