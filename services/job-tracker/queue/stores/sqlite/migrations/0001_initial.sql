-- The first schema. This file is frozen: changes come as further numbered files.
--
-- Where an instance stands follows from the table that names its seq:
--   ready, waiting, executing  it is the current one of its task
--   task.next_seq              it waits behind the current one (blocked)
--   ended                      it is over; the row never changes, but for a late result
-- The instance row itself is written once, so the payload never moves.

CREATE TABLE meta (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  store_id TEXT NOT NULL,
  cluster TEXT NOT NULL,
  partitions INTEGER NOT NULL
) STRICT;

-- The last numbers that were given; they are never given again.
CREATE TABLE counter (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  last_seq INTEGER NOT NULL,
  last_owed INTEGER NOT NULL
) STRICT;

INSERT INTO counter (one, last_seq, last_owed) VALUES (1, 0, 0);

-- The fence: who owns a partition under which epoch. The epoch only grows.
CREATE TABLE ownership (
  part INTEGER PRIMARY KEY,
  epoch INTEGER NOT NULL,
  node_id TEXT,
  incarnation TEXT,
  pid INTEGER,
  taken_at INTEGER
) STRICT;

-- Names that many rows repeat.
CREATE TABLE node_group (
  group_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  part INTEGER NOT NULL
) STRICT;

CREATE TABLE client_group (
  client_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE worker (
  worker_id INTEGER PRIMARY KEY,
  node_id TEXT NOT NULL,
  incarnation TEXT NOT NULL,
  used_at INTEGER NOT NULL,
  UNIQUE (node_id, incarnation)
) STRICT;

CREATE TABLE instance (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  group_id INTEGER NOT NULL,
  task_id TEXT NOT NULL,
  type TEXT NOT NULL,
  priority INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  -- The JobClient group to which the result is owed; NULL: to none.
  client_id INTEGER,
  -- NULL: the default policy.
  policy TEXT,
  -- The first answer: 0 accepted, 1 replaced related_id, 2 duplicate of related_id.
  answer INTEGER NOT NULL,
  related_id BLOB,
  job BLOB NOT NULL
) STRICT;

-- At most one current and one next instance for each task that lives.
CREATE TABLE task (
  group_id INTEGER NOT NULL,
  task_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  -- When the current one is, or was last, due: with it its ready or waiting row is found.
  due_at INTEGER NOT NULL,
  next_seq INTEGER,
  PRIMARY KEY (group_id, task_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX task_blocked ON task (group_id) WHERE next_seq IS NOT NULL;

CREATE TABLE ready (
  group_id INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  retry_times INTEGER NOT NULL,
  lost_times INTEGER NOT NULL,
  PRIMARY KEY (group_id, priority, due_at, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE waiting (
  part INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  group_id INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  retry_times INTEGER NOT NULL,
  lost_times INTEGER NOT NULL,
  PRIMARY KEY (part, due_at, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE executing (
  seq INTEGER PRIMARY KEY,
  attempt INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  worker_id INTEGER NOT NULL,
  assigned_at INTEGER NOT NULL,
  cancelling INTEGER NOT NULL,
  retry_times INTEGER NOT NULL,
  lost_times INTEGER NOT NULL
) STRICT;

-- Attempts after which the instance went on.
CREATE TABLE attempt (
  seq INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  worker_id INTEGER NOT NULL,
  assigned_at INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER NOT NULL,
  outcome INTEGER NOT NULL,
  message TEXT NOT NULL,
  truncated INTEGER NOT NULL,
  late_outcome INTEGER,
  late_message TEXT,
  PRIMARY KEY (seq, attempt)
) STRICT, WITHOUT ROWID;

-- The end of an instance, with the record of its last attempt when that attempt ended it (worker_id is then set).
CREATE TABLE ended (
  seq INTEGER PRIMARY KEY,
  state INTEGER NOT NULL,
  ended_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  retry_times INTEGER NOT NULL,
  lost_times INTEGER NOT NULL,
  message TEXT NOT NULL,
  -- The feedback row of its result; NULL: none was owed.
  owed INTEGER,
  fence INTEGER,
  worker_id INTEGER,
  assigned_at INTEGER,
  started_at INTEGER,
  outcome INTEGER,
  truncated INTEGER,
  late_outcome INTEGER,
  late_message TEXT
) STRICT;

-- Results that are owed, in the order in which they came to be owed.
CREATE TABLE feedback (
  client_id INTEGER NOT NULL,
  dead INTEGER NOT NULL,
  owed INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  deliveries INTEGER NOT NULL,
  next_at INTEGER NOT NULL,
  last_error TEXT NOT NULL,
  PRIMARY KEY (client_id, dead, owed)
) STRICT, WITHOUT ROWID;

CREATE TABLE log (
  seq INTEGER NOT NULL,
  line INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  at INTEGER NOT NULL,
  level INTEGER NOT NULL,
  text TEXT NOT NULL,
  truncated INTEGER NOT NULL,
  PRIMARY KEY (seq, line)
) STRICT, WITHOUT ROWID;
