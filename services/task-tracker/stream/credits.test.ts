import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StreamCredits } from './credits.js';

describe('StreamCredits', () => {
  it('grants all slots at first and collects small grants', () => {
    const credits = new StreamCredits();
    expect(credits.grant(8, 0)).toBe(8);
    credits.received += 3;
    expect(credits.grant(8, 0)).toBeUndefined();
    credits.received++;
    expect(credits.grant(8, 0)).toBe(12);
  });

  it('never lets runs and unused credits exceed the slots, and never starves', () => {
    const steps = fc.array(fc.constantFrom('arrive', 'end', 'grant'), { maxLength: 200 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), steps, (slots, walk) => {
        const credits = new StreamCredits();
        let running = 0;
        for (const step of walk) {
          if (step === 'arrive' && credits.unused > 0) {
            credits.received++;
            running++;
          } else if (step === 'end' && running > 0) running--;
          else if (step === 'grant') credits.grant(slots, running);
          expect(running + credits.unused).toBeLessThanOrEqual(slots);
        }
        credits.grant(slots, running);
        if (running < slots) expect(credits.unused).toBeGreaterThan(0);
      }),
    );
  });
});
