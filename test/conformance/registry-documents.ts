import { describe, expect, it } from 'vitest';
import type { LtsError } from '../../shared/errors/lts-error.js';
import { maxDocumentBytes } from '../../shared/registry/limits.js';
import type { DocumentValue } from '../../shared/registry/registry.js';
import { eventually } from '../kit/eventually.js';
import type { FaultyRegistry } from './registry.js';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (value: DocumentValue | null | undefined): string | undefined => (value ? `${value.version} ${new TextDecoder().decode(value.data)}` : undefined);

/** What documents of every registry keep to. */
export function registryDocumentConformance(make: () => Promise<FaultyRegistry>): void {
  describe('document', () => {
    it('is created once, replaced only at its version, and the same for all', async () => {
      const [one, other] = [await make(), await make()];
      const [mine, theirs] = [one.registry.document('assignment/map'), other.registry.document('assignment/map')];
      expect(await mine.read()).toBeNull();
      await expect(mine.write(bytes('x'), 1)).rejects.toMatchObject({ reason: 'VERSION_CONFLICT' });
      expect(await mine.write(bytes('first'), 'create')).toBe(1);
      await expect(theirs.write(bytes('x'), 'create')).rejects.toMatchObject({ reason: 'VERSION_CONFLICT' });
      expect(text(await theirs.read())).toBe('1 first');
      expect(await theirs.write(bytes('second'), 1)).toBe(2);
      await expect(mine.write(bytes('x'), 1)).rejects.toMatchObject({ reason: 'VERSION_CONFLICT' });
      expect(text(await mine.read())).toBe('2 second');
      expect(await one.registry.document('assignment').read()).toBeNull();
    });

    it('is not replaced under its first version by two', async () => {
      const one = await make();
      const document = one.registry.document('d');
      await document.write(bytes('0'), 'create');
      const results = await Promise.allSettled(['a', 'b', 'c'].map((value) => document.write(bytes(value), 1)));
      expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1);
      expect((await document.read())?.version).toBe(2);
    });

    it('counts right when two add to it at once', async () => {
      const registries = [await make(), await make()];
      const add = async ({ registry }: FaultyRegistry): Promise<void> => {
        const document = registry.document('counter');
        for (let added = 0; added < 25; ) {
          const now = await document.read();
          const next = bytes(String(Number(new TextDecoder().decode(now?.data)) + 1));
          const result = await document.write(next, now?.version ?? 'create').then(
            () => 'added',
            (error: LtsError) => error.reason,
          );
          expect(['added', 'VERSION_CONFLICT']).toContain(result);
          if (result === 'added') added++;
        }
      };
      await Promise.all(registries.map(add));
      expect(text(await registries[0]?.registry.document('counter').read())).toBe('50 50');
    });

    it('is shown to watchers at once, at changes, and after an absence', async () => {
      const [one, other] = [await make(), await make()];
      const [mine, theirs] = [one.registry.document('d'), other.registry.document('d')];
      const seen: (string | undefined)[] = [];
      const subscription = theirs.watch((value) => seen.push(text(value)));
      await eventually(() => seen.length === 1);
      await mine.write(bytes('a'), 'create');
      await eventually(() => seen.at(-1) === '1 a');
      await mine.write(bytes('b'), 1);
      await eventually(() => seen.at(-1) === '2 b');
      other.interrupt();
      await eventually(() => other.registry.state === 'SUSPENDED');
      await mine.write(bytes('c'), 2);
      other.heal();
      await eventually(() => seen.at(-1) === '3 c');
      expect(seen).toEqual([undefined, '1 a', '2 b', '3 c']);
      subscription.close();
      await mine.write(bytes('d'), 3);
      const again: (string | undefined)[] = [];
      theirs.watch((value) => again.push(text(value)));
      await eventually(() => again.at(-1) === '4 d');
      expect(seen.at(-1)).toBe('3 c');
    });

    it('is refused at once while the registry is away', async () => {
      const one = await make();
      const document = one.registry.document('d');
      await document.write(bytes('a'), 'create');
      one.interrupt();
      await eventually(() => one.registry.state === 'SUSPENDED');
      await expect(document.read()).rejects.toMatchObject({ reason: 'REGISTRY_UNAVAILABLE' });
      await expect(document.write(bytes('b'), 1)).rejects.toMatchObject({ reason: 'REGISTRY_UNAVAILABLE' });
      await expect(one.registry.electionNodes('lead')).rejects.toMatchObject({ reason: 'REGISTRY_UNAVAILABLE' });
      one.heal();
      await eventually(async () => text(await document.read()) === '1 a');
    });

    it('has bounds for its size, its path and its versions', async () => {
      const one = await make();
      const document = one.registry.document('d');
      await expect(document.write(new Uint8Array(maxDocumentBytes + 1), 'create')).rejects.toMatchObject({ reason: 'INVALID_ARGUMENT' });
      expect(await document.write(new Uint8Array(maxDocumentBytes), 'create')).toBe(1);
      expect((await document.read())?.data.byteLength).toBe(maxDocumentBytes);
      await expect(document.write(bytes('x'), 0)).rejects.toMatchObject({ reason: 'INVALID_ARGUMENT' });
      await expect(document.write(bytes('x'), -1)).rejects.toMatchObject({ reason: 'INVALID_ARGUMENT' });
      for (const path of ['', '/d', 'a//b', '..', 'a/../b', 'a b']) expect(() => one.registry.document(path)).toThrow(/no name/);
    });
  });
}
