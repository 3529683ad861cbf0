import { expect, it } from 'vitest';
import { TakenOver } from './taken-over.js';

it('tells those that Hello did not name, each once, when their results are settled', () => {
  const predecessors = ['a'];
  const owed = new Set(['b']);
  const takenOver = new TakenOver(() => predecessors, (each) => owed.has(each));
  const ended = (): string[] => takenOver.nextFrame()?.results?.ended ?? [];
  expect(takenOver.named()).toEqual(['a']);
  predecessors.push('b', 'c');
  expect(ended()).toEqual([]);
  takenOver.look();
  expect([ended(), ended()]).toEqual([['c'], []]);
  owed.clear();
  expect([ended(), ended()]).toEqual([['b'], []]);
});

it('leaves to the next Hello what was not told by then', () => {
  const predecessors: string[] = [];
  const takenOver = new TakenOver(() => predecessors, () => false);
  takenOver.named();
  predecessors.push('a');
  takenOver.look();
  expect(takenOver.named()).toEqual(['a']);
  takenOver.look();
  expect(takenOver.nextFrame()).toBeUndefined();
});
