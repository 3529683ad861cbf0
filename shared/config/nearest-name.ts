/** How many single-character edits lead from one text to the other. */
function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const substituted = (previous[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1);
      current.push(Math.min(substituted, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[to.length] ?? 0;
}

const plain = (name: string): string => name.toLowerCase().replaceAll(/[-_]/g, '');

/** The known name that was probably meant, or undefined when none is near. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const wanted = plain(name);
  const ranked = known.map((candidate) => ({ candidate, distance: editDistance(wanted, plain(candidate)) })).toSorted((a, b) => a.distance - b.distance);
  const best = ranked[0];
  return best !== undefined && best.distance <= Math.max(2, Math.floor(wanted.length / 3)) ? best.candidate : undefined;
}

/** " (did you mean …?)" for messages, or nothing. */
export function didYouMean(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  return nearest === undefined ? '' : ` (did you mean ${nearest}?)`;
}
