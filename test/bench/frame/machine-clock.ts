/** Milliseconds of this machine's monotonic clock: the same in all of its processes, so that they can be compared. */
export function machineNow(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
