import { describe, expect, it } from 'vitest';
import { loadSettings } from '../../shared/config/load-settings.js';
import { standaloneSettings } from './config.js';

const start = (flags: Record<string, unknown>): unknown => loadSettings(standaloneSettings, { flags, env: {} });

describe('standaloneSettings', () => {
  it('refuses the address of a PostgreSQL that would not be used, and a PostgreSQL without address', () => {
    const postgresUrl = 'postgres://me@host/lts';
    expect(() => start({ postgresUrl })).toThrow('postgresUrl is given but store is sqlite; add --store postgres');
    expect(() => start({ store: 'postgres' })).toThrow('give --postgres-url');
    expect(() => start({ store: 'postgres', postgresUrl })).not.toThrow();
  });
});
