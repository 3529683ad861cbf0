import { describe, expect, it } from 'vitest';
import { parseConnect } from './servers.js';

describe('parseConnect', () => {
  it('reads hosts, ports, IPv6 and the path', () => {
    expect(parseConnect('a:1, b ,[::1]:3/x/y/')).toEqual({
      servers: [
        { host: 'a', port: 1 },
        { host: 'b', port: 2181 },
        { host: '::1', port: 3 },
      ],
      chroot: '/x/y',
    });
    expect(parseConnect('a/').chroot).toBe('');
  });

  it.each(['', 'a:b', 'a:0', 'a:70000', 'a,,b', '::1:2181', 'a//x', 'a/x y', 'a:1:2'])('refuses %j', (text) => {
    expect(() => parseConnect(text)).toThrow(expect.objectContaining({ reason: 'CONFIG_INVALID' }));
  });
});
