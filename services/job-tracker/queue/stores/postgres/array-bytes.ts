import { numbersText } from './array-text.js';

const headerBytes = 20;
const elementBytes = 12;
const bigint = 20;

/**
 * An array of whole numbers as the server reads a bigint[] without parsing it, for either side the cheapest of the long
 * ones: dimensions, has nulls, type of the elements, length, first place; then each element behind its length. What is
 * no such number goes as text, which the server refuses.
 */
export function numbersBytes(numbers: readonly number[]): Buffer | string {
  const bytes = Buffer.allocUnsafe(headerBytes + numbers.length * elementBytes);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  view.setInt32(0, 1);
  view.setInt32(4, 0);
  view.setInt32(8, bigint);
  view.setInt32(12, numbers.length);
  view.setInt32(16, 1);
  // By place: an iterator makes an object of each number.
  for (let i = 0, at = headerBytes; i < numbers.length; i++, at += elementBytes) {
    const number = numbers[i] as number;
    if (!Number.isSafeInteger(number)) return numbersText(numbers);
    view.setInt32(at, 8);
    view.setInt32(at + 4, Math.floor(number / 2 ** 32));
    view.setUint32(at + 8, number);
  }
  return bytes;
}
