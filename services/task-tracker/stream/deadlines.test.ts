import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../test/kit/virtual-clock.js';
import { Deadlines } from './deadlines.js';

describe('Deadlines', () => {
  it('tells each once when its time has come', async () => {
    const clock = new VirtualClock();
    const passed: string[] = [];
    const deadlines = new Deadlines<string>(clock, (names) => passed.push(...names));
    deadlines.add('late', 300);
    deadlines.add('early', 100);
    deadlines.add('gone', 200);
    deadlines.remove('gone');
    await clock.advance(99);
    expect(passed).toEqual([]);
    await clock.advance(1);
    expect(passed).toEqual(['early']);
    await clock.advance(1_000);
    expect(passed).toEqual(['early', 'late']);
  });
});
