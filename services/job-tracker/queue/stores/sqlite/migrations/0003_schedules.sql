-- Schedules: one row for each task that has a live one.
--
-- What was submitted is a row of instance that is no instance: its answer is 3 (accepted) or 4 (replaced related_id). So
-- its id is known beside all others, and its runs copy the job, type, priority, policy and client group from there. When
-- the schedule is over or replaced, that row gets an ended row like that of an ignored duplicate, and is purged with it.
--
-- Runs are instances like others. task.task_id is their task key; that of a run which is held has the due_at
-- 8640000000000000, in task and in waiting.
--
-- executing.cancelling is 2 of an attempt that runs on, but after which the instance does not wait again.

CREATE TABLE schedule (
  -- The seq of what was submitted first: never given again.
  sched INTEGER PRIMARY KEY,
  -- The instance row of what was submitted last.
  seq INTEGER NOT NULL,
  part INTEGER NOT NULL,
  group_id INTEGER NOT NULL,
  task_id TEXT NOT NULL,
  -- The client_group that submitted it, whether it wants results or not.
  submit_id INTEGER NOT NULL,
  version INTEGER NOT NULL,
  active INTEGER NOT NULL,
  next_at INTEGER,
  fires INTEGER NOT NULL,
  last_at INTEGER,
  updated_at INTEGER NOT NULL,
  plan TEXT NOT NULL,
  UNIQUE (group_id, task_id)
) STRICT;

-- In the order of the fires; those that wait for the end of their run come first.
CREATE INDEX schedule_next ON schedule (part, next_at, sched) WHERE active = 1;
