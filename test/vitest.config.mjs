import { defineConfig } from 'vitest/config';

// Tests run on the compiled output: worker threads cannot load TypeScript on Node 20.
const suite = (name, include, options = {}) => ({
  test: { name, root: new URL('../dist', import.meta.url).pathname, include, testTimeout: 30_000, hookTimeout: 60_000, ...options },
});

export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      suite('unit', ['services/**/*.test.js', 'shared/**/*.test.js', 'test/kit/**/*.test.js', 'test/checker/**/*.test.js', 'test/chaos/unit/**/*.test.js', 'test/demo/**/*.test.js', 'test/repair/**/*.test.js', 'test/schedules/**/*.test.js', 'test/rules/**/*.test.js']),
      suite('conformance', ['test/conformance/**/*.test.js'], { testTimeout: 60_000 }),
      suite('simulation', ['test/simulation/**/*.test.js'], { testTimeout: 600_000 }),
      suite('cluster', ['test/cluster/**/*.test.js'], { testTimeout: 120_000, hookTimeout: 120_000, fileParallelism: false }),
      // Two minutes of faults: alone, since its bounds are times.
      suite('chaos', ['test/chaos/*.test.js'], { testTimeout: 600_000, sequence: { groupOrder: 1 } }),
      suite('interop', ['test/interop/**/*.test.js', 'test/deploy/**/*.test.js'], { testTimeout: 120_000, hookTimeout: 120_000 }),
      suite('bench', ['test/bench/**/*.test.js'], { testTimeout: 180_000 }),
    ],
  },
});
