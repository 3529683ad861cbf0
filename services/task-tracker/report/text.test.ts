import { describe, expect, it } from 'vitest';
import { capText, cutMark } from './text.js';

describe('capText', () => {
  it('leaves what fits as it is', () => {
    expect(capText('grüße 🙂')).toEqual({ text: 'grüße 🙂', truncated: false });
    expect(capText('x'.repeat(65_536))).toEqual({ text: 'x'.repeat(65_536), truncated: false });
  });

  it.each(['x', 'é', '€', '🙂'])('cuts at a whole character and stays within the limit: %s', (character) => {
    for (let most = 40; most < 48; most++) {
      const { text, truncated } = capText(character.repeat(50), most);
      expect(truncated).toBe(true);
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(most);
      expect(text.endsWith(cutMark)).toBe(true);
      expect(text.slice(0, -cutMark.length).replaceAll(character, '')).toBe('');
    }
  });

  it('replaces NUL and lone surrogates', () => {
    expect(capText('a\0b\ud800c\udc00d🙂').text).toBe('a\ufffdb\ufffdc\ufffdd🙂');
  });
});
