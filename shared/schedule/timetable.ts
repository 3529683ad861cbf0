/** When something fires: strictly increasing instants, in milliseconds since 1970. */
export interface Timetable {
  /** The first fire at or after `from`; undefined: it never fires again. */
  next(from: number): number | undefined;
}
