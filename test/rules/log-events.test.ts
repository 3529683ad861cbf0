import { describe, expect, it } from 'vitest';
import { events } from '../../shared/log/events.js';
import { readModules } from './modules.js';

/** Every text of the form of an event in all code but the list itself and tests. */
const used = new Set(
  readModules()
    .filter(({ path }) => path !== 'shared/log/events.ts' && !path.startsWith('test/') && !path.endsWith('.test.ts'))
    .flatMap(({ source }) => [...source.matchAll(/'([a-z]+\.[a-z_]+)'/g)].map((match) => match[1])),
);

describe('log events', () => {
  it('are all used', () => {
    expect(Object.keys(events).filter((event) => !used.has(event))).toEqual([]);
  });

  it('have names of one form', () => {
    for (const event of Object.keys(events)) expect(event).toMatch(/^[a-z]+\.[a-z_]+$/);
  });
});
