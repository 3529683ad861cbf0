import { expect, it } from 'vitest';
import { ArrayText, numbersText } from './array-text.js';

it('writes texts so that none ends early or becomes two', () => {
  expect(ArrayText.of([])).toBe('{}');
  expect(ArrayText.of([''])).toBe('{""}');
  expect(ArrayText.of(['a,b', 'NULL', '}', 'say "x"', 'c:\\d', ' '])).toBe('{"a,b","NULL","}","say \\"x\\"","c:\\\\d"," "}');
});

it('writes numbers as they are, wrong ones too, which the server refuses', () => {
  expect(numbersText([])).toBe('{}');
  expect(numbersText([1, -2, 1.5, Number.NaN])).toBe('{1,-2,1.5,NaN}');
});
