-- The first schema. This file is frozen: changes come as further numbered files.
--
-- Everything lies in the schema lts and every name is qualified, so that a database can be shared with others. The
-- schema itself, and lts.migration with the files that ran, are there before the first file.
--
-- Where an instance stands:
--   live      it is not over; its state tells where it stands
--   ended     it is over; the row never changes, but for a late result
-- The instance row itself is written once, so the payload never moves; ids tell when they were made (UUIDv7), so the
-- histories are cut into days by id, and retention drops whole days.

CREATE TABLE lts.meta (
  one int PRIMARY KEY DEFAULT 1 CHECK (one = 1),
  store_id text NOT NULL,
  cluster text NOT NULL,
  partitions int NOT NULL
);

-- The fence: who owns a partition under which epoch. The epoch only grows.
CREATE TABLE lts.ownership (
  part int PRIMARY KEY,
  epoch bigint NOT NULL,
  node_id text,
  incarnation text,
  pid int,
  -- The server process on which the owner commits, as pg_stat_activity shows it.
  backend_pid int,
  backend_start timestamptz,
  backend_name text,
  taken_at bigint
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_cost_delay = 0);

-- Names that many rows repeat.
CREATE TABLE lts.node_group (
  group_id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL COLLATE "C" UNIQUE,
  part int NOT NULL,
  -- What an operator set; NULL: no limit of its own.
  backlog bigint,
  max_running bigint,
  starts_per_second double precision
);

CREATE INDEX node_group_part ON lts.node_group (part);

CREATE TABLE lts.client_group (
  client_id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL COLLATE "C" UNIQUE
);

CREATE TABLE lts.worker (
  worker_id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  node_id text NOT NULL COLLATE "C",
  incarnation text NOT NULL COLLATE "C",
  used_at bigint NOT NULL,
  UNIQUE (node_id, incarnation)
);

-- Arrivals. One owner commits one batch after the other, so they grow within a group.
CREATE SEQUENCE lts.seq;

-- One number for each commit; owed results are numbered from it, see lts.finish.
CREATE SEQUENCE lts.commits;

CREATE TABLE lts.instance (
  seq bigint NOT NULL,
  created_at bigint NOT NULL,
  due_at bigint NOT NULL,
  id uuid PRIMARY KEY,
  group_id int NOT NULL,
  priority int NOT NULL,
  -- The JobClient group to which the result is owed; NULL: to none.
  client_id int,
  -- The first answer: 0 accepted, 1 replaced related_id, 2 duplicate of related_id.
  answer smallint NOT NULL,
  related_id uuid,
  task_id text NOT NULL COLLATE "C",
  type text NOT NULL COLLATE "C",
  -- NULL: the default policy.
  policy text,
  job bytea NOT NULL
) PARTITION BY RANGE (id);

-- Jobs are bytes of their own kind: compressing them would cost more than storing them.
ALTER TABLE lts.instance ALTER COLUMN job SET STORAGE EXTERNAL;

CREATE INDEX instance_seq ON lts.instance (seq);

-- What is not over: at most one current and one next (blocked) instance of each task.
CREATE TABLE lts.live (
  seq bigint PRIMARY KEY,
  due_at bigint NOT NULL,
  id uuid NOT NULL,
  part int NOT NULL,
  group_id int NOT NULL,
  priority int NOT NULL,
  client_id int,
  -- 0 blocked behind the current one of its task; otherwise as in the contract: 1 waiting, 2 ready, 3 executing, 4 cancelling.
  state smallint NOT NULL,
  -- Attempts that were started; of an executing one, the current attempt.
  attempts int NOT NULL,
  retry_times int NOT NULL,
  lost_times int NOT NULL,
  -- Of the last attempt that was started.
  worker_id int,
  fence bigint,
  assigned_at bigint,
  task_id text NOT NULL COLLATE "C"
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0.1, autovacuum_analyze_threshold = 20000);

CREATE UNIQUE INDEX live_current ON lts.live (group_id, task_id) WHERE state > 0;
CREATE UNIQUE INDEX live_next ON lts.live (group_id, task_id) WHERE state = 0;
CREATE INDEX live_waiting ON lts.live (part, due_at, seq) INCLUDE (group_id) WHERE state = 1;
CREATE INDEX live_ready ON lts.live (group_id, priority, due_at, seq) WHERE state = 2;
CREATE INDEX live_executing ON lts.live (part, seq) WHERE state >= 3;

-- The end of an instance, with the record of its last attempt when that attempt ended it (outcome is then set).
CREATE TABLE lts.ended (
  seq bigint NOT NULL,
  ended_at bigint NOT NULL,
  id uuid PRIMARY KEY,
  -- The contract's final states; 10: the id of an ignored duplicate, no instance.
  state smallint NOT NULL,
  outcome smallint,
  truncated boolean,
  late_outcome smallint,
  attempts int NOT NULL,
  retry_times int NOT NULL,
  lost_times int NOT NULL,
  worker_id int,
  fence bigint,
  assigned_at bigint,
  started_at bigint,
  -- The number of its owed result; NULL: none was owed.
  owed bigint,
  message text NOT NULL,
  late_message text
) PARTITION BY RANGE (id);

-- Attempts after which the instance went on.
CREATE TABLE lts.attempt (
  id uuid NOT NULL,
  attempt int NOT NULL,
  outcome smallint NOT NULL,
  late_outcome smallint,
  truncated boolean NOT NULL,
  worker_id int NOT NULL,
  fence bigint NOT NULL,
  assigned_at bigint NOT NULL,
  started_at bigint NOT NULL,
  ended_at bigint NOT NULL,
  message text NOT NULL,
  late_message text,
  PRIMARY KEY (id, attempt)
) PARTITION BY RANGE (id);

CREATE TABLE lts.log (
  id uuid NOT NULL,
  line int NOT NULL,
  attempt int NOT NULL,
  at bigint NOT NULL,
  level smallint NOT NULL,
  truncated boolean NOT NULL,
  text text NOT NULL,
  PRIMARY KEY (id, line)
) PARTITION BY RANGE (id);

-- Results that are owed, in the order in which they came to be owed.
CREATE TABLE lts.feedback (
  owed bigint NOT NULL,
  next_at bigint NOT NULL,
  id uuid PRIMARY KEY,
  client_id int NOT NULL,
  part int NOT NULL,
  deliveries int NOT NULL,
  dead boolean NOT NULL,
  last_error text NOT NULL
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

CREATE UNIQUE INDEX feedback_order ON lts.feedback (client_id, part, dead, owed);

-- No insert may fail because a day has no partition: ids may come from anywhere.
-- Small jobs stay with their row (toast_tuple_target).
CREATE TABLE lts.instance_other PARTITION OF lts.instance DEFAULT WITH (toast_tuple_target = 8160);
CREATE TABLE lts.ended_other PARTITION OF lts.ended DEFAULT;
CREATE TABLE lts.attempt_other PARTITION OF lts.attempt DEFAULT;
CREATE TABLE lts.log_other PARTITION OF lts.log DEFAULT;

-- The least id that can be made at a time (milliseconds since 1970).
CREATE FUNCTION lts.least_id(at bigint) RETURNS uuid LANGUAGE sql IMMUTABLE STRICT AS
$$ SELECT (lpad(to_hex(at), 12, '0') || repeat('0', 20))::uuid $$;

-- Makes the partitions of the days (UTC) from one time to another (milliseconds since 1970), as far as they are
-- missing; tells how many it made. A day of which rows lie in the default partition already stays there. A commit never
-- waits for it longer than the lock_timeout: what could not be locked is left to the next call.
CREATE FUNCTION lts.make_partitions(from_at bigint, to_at bigint) RETURNS int LANGUAGE plpgsql
SET lock_timeout = '200ms' AS $$
DECLARE
  v_day_ms CONSTANT bigint := 86400000;
  v_table text;
  v_day bigint;
  v_name text;
  v_made int := 0;
BEGIN
  FOREACH v_table IN ARRAY ARRAY['instance', 'ended', 'attempt', 'log'] LOOP
    FOR v_day IN (from_at / v_day_ms) .. (to_at / v_day_ms) LOOP
      v_name := v_table || '_' || to_char(to_timestamp(v_day * 86400) AT TIME ZONE 'UTC', 'YYYYMMDD');
      CONTINUE WHEN to_regclass('lts.' || v_name) IS NOT NULL;
      BEGIN
        EXECUTE format('CREATE TABLE lts.%I (LIKE lts.%I INCLUDING DEFAULTS INCLUDING STORAGE)', v_name, v_table);
        IF v_table = 'instance' THEN
          EXECUTE format('ALTER TABLE lts.%I SET (toast_tuple_target = 8160)', v_name);
        END IF;
        EXECUTE format('ALTER TABLE lts.%I ATTACH PARTITION lts.%I FOR VALUES FROM (%L) TO (%L)',
          v_table, v_name, lts.least_id(v_day * v_day_ms), lts.least_id((v_day + 1) * v_day_ms));
        v_made := v_made + 1;
      EXCEPTION
        WHEN check_violation OR lock_not_available OR duplicate_table OR unique_violation THEN NULL;
      END;
    END LOOP;
  END LOOP;
  RETURN v_made;
END $$;
