/**
 * Every kind of line that a process writes to its log, with what it means. The name is the field `event`; dashboards
 * and alerts may rely on it.
 */
export const events = {
  'process.started': 'The service serves.',
  'process.draining': 'A signal or a command asked it to leave.',
  'process.stopped': 'It has left.',
  'process.failed': 'It cannot go on; it exits non-zero.',
  'rpc.failed': 'A handler failed in a way it should not; the caller got the correlation id.',
  'registry.connected': 'The registry session is good.',
  'registry.suspended': 'The registry does not answer; election and assignment pause.',
  'registry.lost': 'The registry session has ended; everything is registered anew.',
  'registry.failed': 'A registry operation failed and is tried again.',
  'lead.gained': 'This tracker leads: it assigns partitions.',
  'lead.lost': 'This tracker leads no more.',
  'lead.assigned': 'The leader wrote a new assignment.',
  'owner.taking': 'Partitions are being taken.',
  'owner.taken': 'Partitions are owned and loaded.',
  'owner.released': 'Partitions were released.',
  'owner.fenced': 'A higher epoch is stored: the partitions were dropped.',
  'owner.reload': 'The outcome of a commit is unknown: the partitions are taken and loaded again.',
  'store.opened': 'The store is open.',
  'store.locked': 'Another process holds the store.',
  'store.failed': 'The store failed.',
  'store.disk_low': 'Submits are refused: the disk is nearly full.',
  'store.disk_ok': 'Submits are taken again.',
  'worker.online': 'A worker is connected.',
  'worker.offline': 'The stream of a worker is lost; its grace time runs.',
  'worker.gone': 'A worker left, or its grace time is over.',
  'worker.refused': 'A worker was cut off for a reason.',
  'run.lost': 'An attempt was declared lost.',
  'run.late': 'A result came after its attempt was over; it changed nothing.',
  'feedback.dead': 'A result failed 20 times and waits for a resend.',
  'client.online': 'A receiver of results is connected.',
  'client.offline': 'A receiver of results has left.',
  'failstore.stored': 'Something was kept on this disk because it could not be sent.',
  'failstore.drained': 'All that was kept has been sent.',
  'failstore.dead': 'An entry was refused for good.',
  'failstore.failed': 'The FailStore failed.',
  'stream.connected': 'A stream to a tracker is open.',
  'stream.lost': 'A stream to a tracker is lost; it is opened again.',
  'clock.jumped': 'The wall clock jumped; timers were armed anew.',
  'runner.failed': 'The runner module cannot be used.',
  'task.refused': 'A task was refused because its epoch is old.',
} as const;

/** One of the listed kinds. */
export type LogEvent = keyof typeof events;
