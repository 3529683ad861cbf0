import { Presets, SingleBar } from 'cli-progress';

/** Shows how far the jobs are: a bar on a terminal, some plain lines elsewhere. */
export interface Board {
  done(count: number): void;
  note(text: string): void;
  close(): void;
}

/** A board for so many jobs on standard output. */
export function openBoard(total: number): Board {
  return process.stdout.isTTY ? barBoard(total) : lineBoard(total);
}

function barBoard(total: number): Board {
  const bar = new SingleBar({ format: '  {bar} {value}/{total} jobs, {duration_formatted} {note}', hideCursor: true, clearOnComplete: false }, Presets.shades_classic);
  bar.start(total, 0, { note: '' });
  return {
    done: (count) => bar.update(count),
    note: (note) => bar.update({ note }),
    close: () => bar.stop(),
  };
}

function lineBoard(total: number): Board {
  const steps = 5;
  let shown = 0;
  return {
    done: (count) => {
      const step = Math.floor((count * steps) / total);
      if (step <= shown) return;
      shown = step;
      process.stdout.write(`  ${count} of ${total} jobs\n`);
    },
    note: (text) => process.stdout.write(`  ${text}\n`),
    close: () => undefined,
  };
}
