import { describe, expect, it } from 'vitest';
import { loadSettings } from '../../shared/config/load-settings.js';
import { jobTrackerSettings } from './config.js';

const start = (flags: Record<string, unknown>): unknown => loadSettings(jobTrackerSettings, { flags: { insecure: true, ...flags }, env: {} });

describe('jobTrackerSettings', () => {
  it.each(['0.0.0.0:7401', '[::]:7401', '[0:0::0]:7401'])('refuses to tell others the address %s', (listen) => {
    expect(() => start({ listen, zookeeper: 'z:2181' })).toThrow(/wildcard address; give --advertise/);
    expect(() => start({ listen, zookeeper: 'z:2181', advertise: 'tracker-1:7401' })).not.toThrow();
    expect(() => start({ listen })).not.toThrow();
  });

  it('lets a tracker be found where it listens', () => {
    expect(() => start({ listen: '10.0.0.1:7401', zookeeper: 'z:2181' })).not.toThrow();
  });

  it('refuses the address of a PostgreSQL that would not be used', () => {
    const postgresUrl = 'postgres://me@host/lts';
    expect(() => start({ postgresUrl })).toThrow('postgresUrl is given but store is sqlite; add --store postgres');
    expect(() => start({ store: 'postgres', postgresUrl })).not.toThrow();
  });

  it('asks for the address of a PostgreSQL only when none is given', () => {
    expect(() => start({ store: 'postgres' })).toThrow('give --postgres-url');
    expect(() => start({ store: 'postgres', postgresUrl: 'mysql://me@host/lts' })).toThrow(/^postgresUrl: \(secret\) [^\n]*$/);
  });
});
