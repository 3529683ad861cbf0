import { checkHistory } from './check-history.js';
import { readHistory } from './history.js';

/** `node dist/test/checker/main.js FOLDER`: prints every broken promise of a recorded history; exits 1 when there is one. */
function main(folder: string | undefined): number {
  if (folder === undefined) {
    process.stderr.write('name the folder of the history\n');
    return 2;
  }
  const events = readHistory(folder);
  const violations = checkHistory(events);
  for (const { promise, message } of violations) process.stdout.write(`promise ${promise}: ${message}\n`);
  process.stdout.write(`${events.length} events, ${violations.length} violations\n`);
  return violations.length === 0 ? 0 : 1;
}

process.exitCode = main(process.argv[2]);
