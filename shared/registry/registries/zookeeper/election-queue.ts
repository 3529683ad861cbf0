/** A candidate's node in the folder of its election. */
export interface QueueNode {
  name: string;
  uuid: string;
  sequence: number;
}

const pattern = /^n-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-(\d{10})$/;

/** The queue in its order. Names that no candidate writes are left out: anything may lie in the folder. */
export function queueOf(names: readonly string[]): QueueNode[] {
  const nodes: QueueNode[] = [];
  for (const name of names) {
    const match = pattern.exec(name);
    if (match?.[1] !== undefined && match[2] !== undefined) nodes.push({ name, uuid: match[1], sequence: Number(match[2]) });
  }
  // By the number alone: in front of it stands a random id.
  return nodes.sort((a, b) => a.sequence - b.sequence);
}
