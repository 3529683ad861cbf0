import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { fromGrpcError, toGrpcStatus } from './grpc-status.js';
import { LtsError } from './lts-error.js';
import { quoted } from './quoted.js';

const never = (): void => {
  throw new Error('a known error was taken for an unknown one');
};

describe('toGrpcStatus', () => {
  it('carries code, reason and owner', () => {
    const told = toGrpcStatus(new LtsError('NOT_OWNER', 'not here', { owner: '127.0.0.1:1' }), never);
    expect(told).toMatchObject({ code: status.UNAVAILABLE, details: 'not here' });
    expect(fromGrpcError({ ...told, message: '' })).toMatchObject({ reason: 'NOT_OWNER', owner: '127.0.0.1:1' });
  });

  it('never sends the text of an unknown error', () => {
    const seen: unknown[] = [];
    const cause = new Error('password in here');
    const told = toGrpcStatus(cause, (error, id) => seen.push(error, id));
    expect(told.details).toBe(`internal error, correlation id ${String(seen[1])}`);
    expect(seen[0]).toBe(cause);
  });

  it('cuts texts that would not fit into the trailing headers', () => {
    expect(toGrpcStatus(new LtsError('INVALID_ARGUMENT', 'x'.repeat(1_000_000)), never).details).toHaveLength(1_025);
    expect(toGrpcStatus(new LtsError('INVALID_ARGUMENT', 'x'.repeat(1_024)), never).details).toHaveLength(1_024);
  });

  it('sends only texts that can be encoded: half a character would throw in the transport', () => {
    for (const text of ['\uD83D', 'a\uDE00b', `${'x'.repeat(1_023)}😀`]) {
      const { details } = toGrpcStatus(new LtsError('INVALID_ARGUMENT', text), never);
      expect(() => encodeURI(details)).not.toThrow();
    }
    expect(toGrpcStatus(new LtsError('INVALID_ARGUMENT', 'größe 😀'), never).details).toBe('größe 😀');
  });
});

describe('quoted', () => {
  it('shows a value in quotes, cut, and without control characters', () => {
    expect(quoted('a\0b\n"')).toBe('"a\\u0000b\\n\\""');
    expect(quoted('x'.repeat(129))).toBe(`"${'x'.repeat(128)}…"`);
  });
});
