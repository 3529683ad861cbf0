import { describe, expect, it } from 'vitest';
import { reasons, type Reason } from '../../shared/errors/reasons.js';
import { clientCommands, nouns } from './commands.js';
import { exitOfReason } from './exit-codes.js';
import { createProgram } from './program.js';
import { storeCommands } from './store-commands.js';
import { serviceCommands } from './service-commands.js';

const program = createProgram({ version: '1.2.3', clientCommands, nouns, services: serviceCommands, storeCommands }, () => undefined);
const all = program.commands.flatMap((made) => [made, ...made.commands]);

describe('the table of commands', () => {
  it('names each command once and says what its noun is', () => {
    const paths = [...clientCommands.map(({ path }) => path.join(' ')), ...serviceCommands.map(({ name }) => name)];
    expect(new Set(paths).size).toBe(paths.length);
    expect(clientCommands.filter(({ path }) => path.length === 2 && !nouns[path[0]])).toEqual([]);
  });

  it.each(clientCommands.map((row) => ({ name: row.path.join(' '), row })))('$name has help with its options and exit codes, and a handler', async ({ row }) => {
    const made = all.find((candidate) => candidate.name() === row.path.at(-1) && (row.path.length === 1 || candidate.parent?.name() === row.path[0]));
    const help = made?.helpInformation() ?? '';
    expect(help).toContain(row.description.slice(0, 20));
    for (const flag of [...Object.keys(row.options), 'target', 'timeout', 'output']) expect(help).toContain(`--${flag.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`);
    expect(typeof (await row.handler())).toBe('function');
  });

  it('gives every reason an exit code of its kind', () => {
    const exits = Object.fromEntries(Object.keys(reasons).map((reason) => [reason, exitOfReason(reason as Reason)]));
    expect(exits).toMatchObject({
      INSTANCE_NOT_FOUND: 'notFound',
      NOT_OWNER: 'unavailable',
      NO_TRACKER: 'unavailable',
      STORE_LOCKED: 'unavailable',
      BACKLOG_FULL: 'refused',
      INVALID_ARGUMENT: 'refused',
      INSTANCE_ID_CONFLICT: 'refused',
      DEADLINE_PASSED: 'timeout',
      INTERNAL: 'failed',
    });
    expect(Object.values(exits)).not.toContain(undefined);
  });
});
