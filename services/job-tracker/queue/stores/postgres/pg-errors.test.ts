import { describe, expect, it } from 'vitest';
import { serverName } from './connection.js';
import { failureOf } from './pg-errors.js';

describe('what is wrong with the address of a PostgreSQL', () => {
  it.each([
    ['SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string', 'give it in postgresUrl or by PGPASSWORD'],
    ['The server does not support SSL connections', 'correct sslmode'],
  ])('is told when the driver says "%s"', (said, hint) => {
    expect(failureOf('host:5432/lts', new Error(said), false)).toMatchObject({ reason: 'CONFIG_INVALID', kind: 'denied', message: expect.stringContaining(hint) });
  });

  it('is told when the mode of TLS is none, without the password', () => {
    const message = 'postgresUrl: sslmode is "requir"; it can be disable, no-verify, prefer, require, verify-ca, verify-full';
    expect(() => serverName('postgres://me:hush@host/lts?sslmode=requir')).toThrow(message);
    expect(serverName('postgres://me:hush@host/lts?sslmode=verify-full')).toBe('host:5432/lts');
  });
});
