import { describe, expect, it } from 'vitest';
import { ClusterView } from './cluster-view.js';

const assignment = { leader: { nodeId: 'a', sequence: 1 }, trackers: [{ nodeId: 'a', incarnation: 'a-1', address: '127.0.0.1:1' }], owners: ['a'] };

describe('ClusterView', () => {
  it('names owners by the newest assignment', () => {
    const view = new ClusterView();
    expect(view.ownerOf(0)).toBe('');
    view.update(assignment, 3);
    expect(view.ownerOf(0)).toBe('127.0.0.1:1');
    expect(view.map).toMatchObject({ version: 3, partitions: 1, owners: [{ partition: 0, node_id: 'a' }] });
  });

  it('is stale only while nobody can know better here: no registry and nothing owned', () => {
    const view = new ClusterView();
    view.judge(false, false);
    expect(view.stale).toBe(false);
    view.update(assignment, 1);
    const seen: boolean[] = [];
    view.onChange(() => seen.push(view.stale));
    view.judge(false, true);
    view.judge(false, false);
    view.judge(false, false);
    view.judge(true, false);
    expect(seen).toEqual([true, false]);
  });
});
