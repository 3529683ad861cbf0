#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CommanderError } from 'commander';
import { messageOf } from '../../shared/errors/lts-error.js';
import { packageRoot } from '../../shared/package-root.js';
import { clientCommands, nouns } from './commands.js';
import { exitCodes } from './exit-codes.js';
import { createProgram } from './program.js';
import { serviceCommands } from './service-commands.js';
import { storeCommands } from './store-commands.js';
import { UsageError } from './usage-error.js';

const { version } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string };

// The code is set, not exited with: what was written is then flushed first.
const end = (code: number): void => {
  process.exitCode = code;
};

// `lts … | head` closes the pipe: not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? exitCodes.ok.code : exitCodes.failed.code));

try {
  await createProgram({ version, clientCommands, nouns, services: serviceCommands, storeCommands }, end).parseAsync();
} catch (error) {
  // Commander has printed its own errors, and throws for help and version too.
  if (error instanceof CommanderError) end(error.exitCode === 0 ? exitCodes.ok.code : exitCodes.usage.code);
  else if (error instanceof UsageError) {
    process.stderr.write(`lts: ${error.message}\n`);
    end(exitCodes.usage.code);
  } else {
    process.stderr.write(`lts: ${messageOf(error)}\n`);
    end(exitCodes.failed.code);
  }
}
