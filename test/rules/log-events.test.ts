import { describe, expect, it } from 'vitest';
import { events } from '../../shared/log/events.js';
import { readModules } from './modules.js';

/** All code but the list itself and tests. */
const code = readModules()
  .filter(({ path }) => path !== 'shared/log/events.ts' && !path.startsWith('test/') && !path.endsWith('.test.ts'))
  .map(({ source }) => source)
  .join('\n');

describe('log events', () => {
  it.each(Object.keys(events))('%s is used', (event) => {
    expect(code).toContain(`'${event}'`);
  });

  it('have names of one form', () => {
    for (const event of Object.keys(events)) expect(event).toMatch(/^[a-z]+\.[a-z_]+$/);
  });
});
