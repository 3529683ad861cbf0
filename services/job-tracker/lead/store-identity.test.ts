import { describe, expect, it } from 'vitest';
import type { LtsError } from '../../../shared/errors/lts-error.js';
import { silentLogger } from '../../../shared/log/logger.js';
import { LocalRegistry } from '../../../shared/registry/registries/local.js';
import { LocalRegistryHub } from '../../../shared/registry/registries/local-hub.js';
import { VirtualClock } from '../../../test/kit/virtual-clock.js';
import { agreeOnStore } from './store-identity.js';

describe('agreeOnStore', () => {
  const hub = (): [LocalRegistry, LocalRegistry] => {
    const shared = new LocalRegistryHub();
    return [new LocalRegistry(shared), new LocalRegistry(shared)];
  };
  const agree = (registry: LocalRegistry, id: string | (() => Promise<string>), clock = new VirtualClock()): Promise<void> => {
    const agreed = agreeOnStore(registry, typeof id === 'string' ? () => Promise.resolve(id) : id, clock, silentLogger);
    void clock.advance(10_000);
    return agreed;
  };

  it('lets trackers of one store stand, the first one writes it', async () => {
    const [first, second] = hub();
    await agree(first, 'a');
    await expect(agree(second, 'a')).resolves.toBeUndefined();
  });

  it('refuses a tracker of another store, and names both', async () => {
    const [first, second] = hub();
    await agree(first, 'a');
    await expect(agree(second, 'b')).rejects.toMatchObject({ reason: 'STORE_FOREIGN', message: expect.stringMatching(/store a.*store b/) });
  });

  it('does not repeat what else may be written there', async () => {
    const [first, second] = hub();
    await first.document('store').write(Buffer.from(`\u001b[2J${'x'.repeat(10_000)}`), 'create');
    const error = await agree(second, 'b').catch((thrown: LtsError) => thrown);
    expect(error).toMatchObject({ reason: 'STORE_FOREIGN', message: expect.stringContaining('lts store adopt') });
    expect(error?.message.length).toBeLessThan(600);
    expect(error?.message).not.toContain('\u001b');
  });

  it('waits for a store that cannot be opened yet', async () => {
    const [first, second] = hub();
    await agree(first, 'a');
    const answers = ['', '', 'a'];
    await expect(agree(second, () => Promise.resolve(answers.shift() ?? 'a'))).resolves.toBeUndefined();
    expect(answers).toEqual([]);
  });
});
