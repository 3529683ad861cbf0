import { LtsError } from '../../../errors/lts-error.js';

/** One server of the ensemble. */
export interface Server {
  host: string;
  port: number;
}

/** Where ZooKeeper is, and the path below which everything is kept ("" for none). */
export interface ConnectAddress {
  servers: Server[];
  chroot: string;
}

const defaultPort = 2181;

/** Reads `host[:port],[v6]:port,…[/chroot]`. CONFIG_INVALID with the part that is wrong. */
export function parseConnect(connect: string): ConnectAddress {
  const slash = connect.indexOf('/');
  const hosts = slash < 0 ? connect : connect.slice(0, slash);
  const chroot = slash < 0 ? '' : connect.slice(slash).replace(/\/$/, '');
  if (!/^(\/[A-Za-z0-9._-]+)*$/.test(chroot)) throw invalid(connect, `"${chroot}" is no path`);
  const servers = hosts.split(',').map((part) => parseServer(connect, part.trim()));
  return { servers, chroot };
}

function parseServer(connect: string, text: string): Server {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = match?.[3] === undefined ? defaultPort : Number(match[3]);
  if (host === undefined) throw invalid(connect, `"${text}" is no host:port`);
  if (port < 1 || port > 65_535) throw invalid(connect, `port ${port} is not within 1 to 65535`);
  return { host, port };
}

function invalid(connect: string, problem: string): LtsError {
  return new LtsError('CONFIG_INVALID', `ZooKeeper address ${JSON.stringify(connect.slice(0, 200))}: ${problem}; write host:port,host:port`);
}
