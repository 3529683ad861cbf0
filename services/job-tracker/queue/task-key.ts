/**
 * Under which name an instance holds its place among the live ones of its group: at most one current instance has it.
 * Of a one-shot job that is its task_id. A run of a schedule has a name of its own, so that several may live; a task_id
 * has no # and no $:
 *
 *   #task#time   a run for a scheduled time, of a schedule that limits how many runs live at once (guarded)
 *   $task#time   the same of a schedule without such a limit
 *   #task#m<id>, $task#m<id>   by hand
 */
export type TaskKey = string;

/** @param which the scheduled time, or the id of a run by hand */
export function runKey(taskId: string, guarded: boolean, which: number | string): TaskKey {
  return `${guarded ? '#' : '$'}${taskId}#${typeof which === 'number' ? which : `m${which}`}`;
}

/** Whether it is a run of a schedule. */
export function isRunKey(key: TaskKey): boolean {
  return key.startsWith('#') || key.startsWith('$');
}

/** Whether its schedule limits how many runs live at once. */
export function isGuarded(key: TaskKey): boolean {
  return key.startsWith('#');
}

/** Whether it was started by hand. */
export function isByHand(key: TaskKey): boolean {
  return isRunKey(key) && key.charAt(key.lastIndexOf('#') + 1) === 'm';
}

/** The scheduled time of a run that was not started by hand. */
export function timeOf(key: TaskKey): number {
  return Number(key.slice(key.lastIndexOf('#') + 1));
}

/** The task_id that the user knows. */
export function taskIdOf(key: TaskKey): string {
  return isRunKey(key) ? key.slice(1, key.lastIndexOf('#')) : key;
}

/** Keys from the first (inclusive) to the second (exclusive) are those of runs of this task. */
export function runKeyRanges(taskId: string): [from: string, to: string][] {
  return [[`#${taskId}#`, `#${taskId}$`], freeRunKeys(taskId)];
}

/** The same of those that are not guarded. */
export function freeRunKeys(taskId: string): [from: string, to: string] {
  return [`$${taskId}#`, `$${taskId}$`];
}
