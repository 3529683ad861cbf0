const longest = 128;

/** A value of a caller as an error message shows it: in quotes, cut, and without anything that could act as more than text. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > longest ? `${text.slice(0, longest)}…` : text);
}
