// `npm run docs`: writes the tables of the README that follow from the code.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../shared/package-root.js';
import { withTables } from './readme-tables.js';

const path = join(packageRoot, 'README.md');
writeFileSync(path, withTables(readFileSync(path, 'utf8')));
