-- Runs of a task that are to end: its schedule was suspended or deleted, or the task cancelled, while very many lived.
-- Their row says which are left; it goes with the last of them. Until then their owner hands out none of the task.

CREATE TABLE left_runs (
  part INTEGER NOT NULL,
  group_id INTEGER NOT NULL,
  task_id TEXT NOT NULL,
  -- 1 suspend, 2 delete, 3 cancel.
  change INTEGER NOT NULL,
  -- The last arrival before the change: later runs are not meant.
  last_seq INTEGER NOT NULL,
  -- The task key with which the next look begins.
  next_key TEXT NOT NULL,
  PRIMARY KEY (part, group_id, task_id, change)
) STRICT, WITHOUT ROWID;
