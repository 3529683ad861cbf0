import { connect } from 'node:net';

/** What a client needs to take up a session. */
export interface StolenSession {
  id: bigint;
  password: Buffer;
}

/** The session that a server's answer to a handshake grants; undefined for bytes that are no such answer. */
export function sessionIn(bytes: Buffer): StolenSession | undefined {
  // Length 36 or 37, protocol version 0, time, id, password of 16 bytes.
  if (bytes.length < 40 || bytes.readInt32BE(0) > 37 || bytes.readInt32BE(20) !== 16 || bytes.readInt32BE(8) <= 0) return undefined;
  return { id: bytes.readBigInt64BE(12), password: Buffer.from(bytes.subarray(24, 40)) };
}

/** Takes up the session as a second client and closes it: for the first one it has expired. */
export function expireSession(port: number, session: StolenSession): Promise<void> {
  return inSession(port, session, frame(Buffer.alloc(0), -11), true);
}

/** Takes up the session as a second client and makes an ephemeral node in it; its owner then takes the session back. */
export function createInSession(port: number, session: StolenSession, path: string): Promise<void> {
  const world = Buffer.concat([int(1), int(31), text('world'), text('anyone')]);
  return inSession(port, session, frame(Buffer.concat([text(path), text(''), world, int(1)]), 1), false);
}

/** Sends one request in the session; the connection then ends by the server's hand, or after the answer. */
function inSession(port: number, session: StolenSession, request: Buffer, serverEnds: boolean): Promise<void> {
  const handshake = Buffer.alloc(4 + 44);
  handshake.writeInt32BE(44, 0);
  handshake.writeInt32BE(4_000, 16);
  handshake.writeBigInt64BE(session.id, 20);
  handshake.writeInt32BE(16, 28);
  session.password.copy(handshake, 32);
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(handshake));
    socket.setTimeout(5_000, () => socket.destroy(new Error('no answer to a stolen session')));
    socket.once('data', () => {
      socket.write(request);
      if (!serverEnds) socket.once('data', () => socket.destroy());
    });
    socket.once('error', reject);
    socket.once('close', () => resolve());
  });
}

function frame(body: Buffer, operation: number): Buffer {
  return Buffer.concat([int(8 + body.length), int(1), int(operation), body]);
}

function int(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function text(value: string): Buffer {
  return Buffer.concat([int(Buffer.byteLength(value)), Buffer.from(value)]);
}
