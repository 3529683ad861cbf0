const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** "250ms", "10s", "5m", "2h", "7d" in milliseconds; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text.trim());
  if (match === null) return undefined;
  return Math.round(Number(match[1]) * unitMs[match[2] as keyof typeof unitMs]);
}

/** The shortest exact text that parseDuration reads back: 10000 is "10s". */
export function formatDuration(ms: number): string {
  for (const unit of ['d', 'h', 'm', 's'] as const) if (ms >= unitMs[unit] && ms % unitMs[unit] === 0) return `${ms / unitMs[unit]}${unit}`;
  return `${ms}ms`;
}
