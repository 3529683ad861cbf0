/** The credits of one stream. They die with it. */
export class StreamCredits {
  /** Told to the tracker: how many tasks it may send in all on this stream. */
  granted = 0;
  /** How many have come. */
  received = 0;

  /** Tasks that the tracker may still send. */
  get unused(): number {
    return this.granted - this.received;
  }

  /**
   * Grants what is free and gives the new total, or undefined when there is nothing to say. While the tracker can still
   * send more than half of what this worker takes, further grants wait and become one.
   *
   * Invariant: tasks that run and credits that are unused are together never more than `slots`.
   */
  grant(slots: number, running: number): number | undefined {
    const free = slots - running - this.unused;
    if (free <= 0 || this.unused * 2 > slots) return undefined;
    this.granted += free;
    return this.granted;
  }
}
