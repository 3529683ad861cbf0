-- Schedules, and admits that are inserted without a look before. This file is frozen: changes come as further numbered files.
--
--   schedule       a live schedule: what was submitted; changes when people change it
--   schedule_next  when it fires next; changes with each fire, so it is narrow
--
-- A schedule that is past, and an ignored submission of one, is kept as an ignored duplicate is: a row of lts.instance
-- that is no instance (answer 2 to 4) with an ended row of state 10. So ids are known in one place, and go with the
-- retention.
--
-- Runs are instances under a task key (#task#time or $task#time, see task-key.ts). A held one waits (state 1) and is due
-- at the end of time. An admit whose task or id a live schedule has does not get its place among the live ones, and is
-- then looked at on its own; where its group has no schedule nothing is looked up for it.
--
-- Enrolls, fires and the changes of a schedule come in lts.commit among those that run on their own (p_alone):
--   1 cancel by id   b and the second text: the state and message of what waits; 0: it ends CANCELLED
--   6 enrolls        texts: JSON, names of clients
--   7 fires          a: used_at, b: times of the longest; texts: JSON, names of workers
--   8 alter          a: at, b: 1 suspend, 2 resume, 3 next, 4 delete; texts: task, JSON {next, version}
--   9 release        a: seq
-- Neither two enrolls nor two fires of one row name the same task, schedule or id. Further outcomes:
--   17 not ended because its schedule is gone or suspended (ords)   18 enrolled (sched, version; id of what it replaced)
--   19 fired (ords)   20 runs made (ords, then seqs, then placements)   21 made before (ords)
--   22 altered (1 done 2 unchanged 3 stale, sched, version)   23 the schedule that was cancelled

CREATE SEQUENCE lts.sched;

CREATE TABLE lts.schedule (
  sched bigint PRIMARY KEY,
  version bigint NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  id uuid NOT NULL UNIQUE,
  -- What it replaced; NULL: it was accepted.
  related_id uuid,
  part int NOT NULL,
  group_id int NOT NULL,
  priority int NOT NULL,
  client_id int,
  needs_feedback boolean NOT NULL,
  -- 1 active, 2 suspended.
  state smallint NOT NULL,
  task_id text NOT NULL COLLATE "C",
  type text NOT NULL COLLATE "C",
  policy text,
  plan text NOT NULL,
  job bytea NOT NULL
) WITH (fillfactor = 90);

ALTER TABLE lts.schedule ALTER COLUMN job SET STORAGE EXTERNAL;

CREATE UNIQUE INDEX schedule_task ON lts.schedule (group_id, task_id);
CREATE INDEX schedule_suspended ON lts.schedule (group_id, task_id) WHERE state = 2;

CREATE TABLE lts.schedule_next (
  sched bigint PRIMARY KEY,
  -- NULL: suspended. The end of time (8640000000000000): active, without a next time.
  next_at bigint,
  last_at bigint,
  fires bigint NOT NULL,
  part int NOT NULL
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX schedule_next_due ON lts.schedule_next (part, next_at, sched) WHERE next_at IS NOT NULL;

-- Of a run whose schedule was suspended or deleted: it gets no further attempt.
ALTER TABLE lts.live ADD COLUMN is_last boolean;

CREATE FUNCTION lts.end_of_time() RETURNS bigint LANGUAGE sql IMMUTABLE AS $$ SELECT 8640000000000000 $$;

-- An enroll as it comes in.
CREATE TYPE lts.enrolling AS (
  ord int, id uuid, mine boolean, part int, "group" int, client int, task text, type text, priority int, created bigint, feedback boolean,
  replaces boolean, late boolean, policy text, plan text, next bigint, job text
);

-- Live runs of a task.
CREATE FUNCTION lts.runs_of(p_group int, p_task text) RETURNS SETOF lts.live LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY
  SELECT * FROM (
    SELECT * FROM lts.live WHERE group_id = p_group AND task_id >= '#' || p_task || '#' AND task_id < '#' || p_task || '$' AND state > 0
    UNION ALL
    SELECT * FROM lts.live WHERE group_id = p_group AND task_id >= '$' || p_task || '#' AND task_id < '$' || p_task || '$' AND state > 0) l
  ORDER BY l.seq;
END $$;

-- Keeps an id that names no instance, so that it gets its first answer again: 2 duplicate, 3 accepted, 4 replaced.
CREATE FUNCTION lts.keep_id(p_at bigint, p_id uuid, p_group int, p_answer int, p_related uuid, p_task text, p_type text, p_priority int, p_job bytea)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_seq CONSTANT bigint := nextval('lts.seq');
BEGIN
  INSERT INTO lts.instance (seq, created_at, due_at, id, group_id, priority, answer, related_id, task_id, type, job)
  VALUES (v_seq, p_at, p_at, p_id, p_group, p_priority, p_answer, p_related, p_task, p_type, p_job) ON CONFLICT (id) DO NOTHING;
  IF FOUND THEN
    INSERT INTO lts.ended (seq, ended_at, id, state, attempts, retry_times, lost_times, message) VALUES (v_seq, p_at, p_id, 10, 0, 0, 0, '');
  END IF;
END $$;

CREATE FUNCTION lts.keep_schedule(p lts.schedule, p_at bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM lts.keep_id(p_at, p.id, p.group_id, CASE WHEN p.related_id IS NULL THEN 3 ELSE 4 END, p.related_id, p.task_id, p.type, p.priority, p.job);
END $$;

-- The schedule becomes past.
CREATE FUNCTION lts.retire(p_sched bigint, p_at bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_gone lts.schedule;
BEGIN
  DELETE FROM lts.schedule WHERE sched = p_sched RETURNING * INTO v_gone;
  DELETE FROM lts.schedule_next WHERE sched = p_sched;
  PERFORM lts.keep_schedule(v_gone, p_at);
END $$;

-- Takes schedules in. Those whose id and task are free go in together.
CREATE FUNCTION lts.enroll(p_enrolls text, p_clients text, p_group_ids int[]) RETURNS SETOF lts.outcome LANGUAGE plpgsql AS $$
DECLARE
  v_client_ids CONSTANT int[] := CASE WHEN p_clients <> '{}' THEN lts.client_ids(p_clients::text[]) END;
  v_ords int[];
  v_scheds bigint[];
  v_one lts.enrolling;
BEGIN
  WITH free AS MATERIALIZED (
    SELECT nextval('lts.sched') AS sched, e.* FROM (
      SELECT * FROM json_populate_recordset(NULL::lts.enrolling, p_enrolls::json) f
      WHERE (SELECT 1 FROM lts.instance WHERE id = f.id LIMIT 1) IS NULL
        AND (SELECT 1 FROM lts.schedule WHERE id = f.id LIMIT 1) IS NULL
        AND (SELECT 1 FROM lts.schedule WHERE group_id = p_group_ids[f."group"] AND task_id = f.task LIMIT 1) IS NULL
        AND (SELECT 1 FROM lts.live WHERE group_id = p_group_ids[f."group"] AND task_id = f.task AND state > 0 LIMIT 1) IS NULL
      OFFSET 0
    ) e
  ), made AS (
    INSERT INTO lts.schedule (sched, version, created_at, updated_at, id, part, group_id, priority, client_id, needs_feedback, state, task_id, type, policy, plan, job)
    SELECT sched, 1, created, created, id, part, p_group_ids["group"], priority, v_client_ids[client], feedback, 1, task, type, policy, plan, decode(job, 'base64')
    FROM free
  ), timed AS (
    INSERT INTO lts.schedule_next (sched, next_at, fires, part) SELECT sched, coalesce(next, lts.end_of_time()), 0, part FROM free
  )
  SELECT array_agg(ord), array_agg(sched) INTO v_ords, v_scheds FROM free;
  RETURN QUERY SELECT (lts.outcome(18, v_ords[k], ARRAY[v_scheds[k], 1])).* FROM generate_subscripts(v_ords, 1) k;
  FOR v_one IN SELECT * FROM json_populate_recordset(NULL::lts.enrolling, p_enrolls::json) f WHERE v_ords IS NULL OR f.ord <> ALL (v_ords) LOOP
    RETURN NEXT lts.enroll_beside(v_one, p_group_ids[v_one."group"], v_client_ids[v_one.client]);
  END LOOP;
END $$;

-- An enroll whose id or task is taken.
CREATE FUNCTION lts.enroll_beside(e lts.enrolling, p_group int, p_client int) RETURNS lts.outcome LANGUAGE plpgsql AS $$
DECLARE
  v_job CONSTANT bytea := decode(e.job, 'base64');
  v_mine record;
  v_existing uuid;
  v_old lts.schedule;
BEGIN
  SELECT answer, related_id, job INTO v_mine FROM (
    SELECT answer, related_id, job FROM lts.instance WHERE id = e.id
    UNION ALL SELECT CASE WHEN related_id IS NULL THEN 3 ELSE 4 END, related_id, job FROM lts.schedule WHERE id = e.id) k;
  IF FOUND THEN
    RETURN lts.outcome(11, e.ord, ARRAY[v_mine.answer], v_mine.related_id, job => CASE WHEN v_mine.job <> v_job THEN v_mine.job END);
  END IF;
  SELECT id INTO v_existing FROM (
    SELECT id, state FROM lts.live WHERE group_id = p_group AND task_id = e.task AND state = 0
    UNION ALL SELECT id, state FROM lts.live WHERE group_id = p_group AND task_id = e.task AND state > 0) l ORDER BY state LIMIT 1;
  SELECT * INTO v_old FROM lts.schedule WHERE group_id = p_group AND task_id = e.task;
  v_existing := coalesce(v_existing, v_old.id);
  IF v_old.sched IS NULL OR NOT e.replaces OR (e.late AND e.id < v_old.id) THEN
    -- Only an id that the client made can come again.
    IF e.mine THEN
      PERFORM lts.keep_id(e.created, e.id, p_group, 2, v_existing, e.task, e.type, e.priority, v_job);
    END IF;
    RETURN lts.outcome(10, e.ord, NULL, v_existing);
  END IF;
  PERFORM lts.keep_schedule(v_old, e.created);
  UPDATE lts.schedule SET version = v_old.version + 1, created_at = e.created, updated_at = e.created, id = e.id, related_id = v_old.id, priority = e.priority,
    client_id = p_client, needs_feedback = e.feedback, state = 1, type = e.type, policy = e.policy, plan = e.plan, job = v_job
  WHERE sched = v_old.sched;
  UPDATE lts.schedule_next SET next_at = CASE WHEN v_old.state = 1 AND next_at <= e.created THEN next_at ELSE coalesce(e.next, lts.end_of_time()) END, fires = 0
  WHERE sched = v_old.sched;
  PERFORM lts.let_go_on(p_group, e.task);
  RETURN lts.outcome(18, e.ord, ARRAY[v_old.sched, v_old.version + 1], v_old.id);
END $$;

-- Its live runs get further attempts again.
CREATE FUNCTION lts.let_go_on(p_group int, p_task text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE lts.live SET is_last = NULL WHERE seq = ANY (ARRAY(SELECT seq FROM lts.runs_of(p_group, p_task) WHERE is_last));
END $$;

-- Makes runs and rows of passed times, and moves their schedules on.
CREATE FUNCTION lts.fire(p_fires text, p_workers text, p_used_at bigint, p_most int) RETURNS SETOF lts.outcome LANGUAGE plpgsql AS $$
DECLARE
  v_worker_ids CONSTANT int[] := CASE WHEN p_workers <> '{}' THEN lts.worker_ids(p_workers::text[], p_used_at) END;
  v_fired bigint[];
  v_again bigint[];
  v_over bigint[];
  v_over_at bigint[];
  v_runs bigint[];
BEGIN
  IF p_most > 1001 THEN
    RAISE EXCEPTION 'a fire brings % times, at most 1001 are possible', p_most USING ERRCODE = '22023';
  END IF;
  WITH found AS MATERIALIZED (
    SELECT f.*, n.ctid AS place, s.group_id, s.priority, CASE WHEN s.needs_feedback THEN s.client_id END AS client_id, s.type, s.policy, s.job,
      CASE WHEN f.was IS NULL THEN EXISTS (
        SELECT 1 FROM json_to_recordset(f.times) AS t(id uuid)
        WHERE (SELECT 1 FROM lts.instance WHERE id = t.id LIMIT 1) IS NOT NULL OR (SELECT 1 FROM lts.schedule WHERE id = t.id LIMIT 1) IS NOT NULL
      ) ELSE false END AS again
    FROM json_to_recordset(p_fires::json)
        AS f(ord int, part int, sched bigint, version bigint, was bigint, next bigint, "over" boolean, at bigint, counted int, last bigint, times json),
      LATERAL (SELECT ctid, next_at, part FROM lts.schedule_next WHERE sched = f.sched OFFSET 0) n,
      LATERAL (SELECT * FROM lts.schedule WHERE sched = f.sched OFFSET 0) s
    WHERE n.part = f.part AND s.version = f.version AND (f.was IS NULL OR n.next_at = f.was)
  ), due AS MATERIALIZED (
    -- Arrivals in the order of the batch.
    SELECT nextval('lts.seq') AS seq, q.* FROM (
      SELECT f.ord, f.at, f.part, f.group_id, f.priority, f.client_id, f.type, f.policy, CASE WHEN t.state < 5 THEN coalesce(decode(t.job, 'base64'), f.job) ELSE '' END AS job,
        t.id, t.key, t.time, t.state, v_worker_ids[t.worker] AS worker_id, t.fence, t.message
      FROM found f, ROWS FROM (json_to_recordset(f.times)
        AS (id uuid, key text, "time" bigint, state int, worker int, fence bigint, job text, message text)) WITH ORDINALITY t
      WHERE NOT f.again ORDER BY f.ord, t.ordinality OFFSET 0
    ) q
  ), taken AS (
    INSERT INTO lts.instance (seq, created_at, due_at, id, group_id, priority, client_id, answer, task_id, type, policy, job)
    SELECT seq, at, time, id, group_id, priority, CASE WHEN state < 5 THEN client_id END, 0, key, type, policy, job FROM due
  ), placed AS (
    INSERT INTO lts.live (seq, due_at, id, part, group_id, priority, client_id, state, attempts, retry_times, lost_times, worker_id, fence, assigned_at, task_id)
    SELECT seq, CASE WHEN state = 1 THEN lts.end_of_time() ELSE time END, id, part, group_id, priority, client_id, state, CASE WHEN state = 3 THEN 1 ELSE 0 END, 0, 0,
      worker_id, fence, CASE WHEN state = 3 THEN at END, key
    FROM due WHERE state < 5
  ), passed AS (
    INSERT INTO lts.ended (seq, ended_at, id, state, attempts, retry_times, lost_times, message) SELECT seq, at, id, state, 0, 0, 0, message FROM due WHERE state > 5
  ), moved AS (
    UPDATE lts.schedule_next n SET next_at = coalesce(f.next, lts.end_of_time()), fires = n.fires + f.counted, last_at = greatest(n.last_at, f.last)
    FROM found f WHERE n.ctid = f.place AND f.was IS NOT NULL AND NOT f."over"
  )
  SELECT array_agg(f.ord) FILTER (WHERE NOT f.again), array_agg(f.ord) FILTER (WHERE f.again),
    array_agg(f.sched) FILTER (WHERE f."over" AND f.was IS NOT NULL), array_agg(f.at) FILTER (WHERE f."over" AND f.was IS NOT NULL),
    (SELECT array_agg(d.ord::bigint) || array_agg(d.seq) || array_agg(d.state::bigint) FROM due d WHERE d.state < 5)
  INTO v_fired, v_again, v_over, v_over_at, v_runs FROM found f;
  IF v_fired IS NOT NULL THEN
    RETURN NEXT lts.outcome(19, 0, v_fired);
    RETURN NEXT lts.outcome(20, 0, v_runs);
  END IF;
  IF v_again IS NOT NULL THEN
    RETURN NEXT lts.outcome(21, 0, v_again);
  END IF;
  PERFORM lts.retire(v_over[k], v_over_at[k]) FROM generate_subscripts(v_over, 1) k;
END $$;

-- Suspends, resumes or deletes a schedule, or sets its next time.
CREATE FUNCTION lts.alter_schedule(p_ord bigint, p_part int, p_group int, p_task text, p_change int, p_next bigint, p_version bigint, p_at bigint)
RETURNS SETOF lts.outcome LANGUAGE plpgsql AS $$
DECLARE
  v_schedule lts.schedule;
  v_next bigint;
  v_run lts.live;
BEGIN
  SELECT * INTO v_schedule FROM lts.schedule WHERE group_id = p_group AND task_id = p_task AND part = p_part;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  SELECT next_at INTO v_next FROM lts.schedule_next WHERE sched = v_schedule.sched;
  IF p_version <> v_schedule.version OR p_version IS NULL AND p_change IN (2, 3) THEN
    RETURN NEXT lts.outcome(22, p_ord, ARRAY[3, v_schedule.sched, v_schedule.version]);
    RETURN;
  END IF;
  IF p_change = 1 AND v_schedule.state = 2 OR p_change = 2 AND v_schedule.state = 1 OR p_change = 3 AND v_next IS DISTINCT FROM lts.end_of_time() THEN
    RETURN NEXT lts.outcome(22, p_ord, ARRAY[2, v_schedule.sched, v_schedule.version]);
    RETURN;
  END IF;

  IF p_change = 4 THEN
    PERFORM lts.retire(v_schedule.sched, p_at);
  ELSE
    UPDATE lts.schedule SET version = version + 1, updated_at = p_at, state = CASE p_change WHEN 1 THEN 2 ELSE 1 END WHERE sched = v_schedule.sched
    RETURNING * INTO v_schedule;
    UPDATE lts.schedule_next SET next_at = CASE WHEN p_change > 1 THEN coalesce(p_next, lts.end_of_time()) END WHERE sched = v_schedule.sched;
  END IF;
  RETURN NEXT lts.outcome(22, p_ord, ARRAY[1, v_schedule.sched, v_schedule.version]);
  IF p_change = 2 THEN
    PERFORM lts.let_go_on(p_group, p_task);
  END IF;
  IF p_change IN (2, 3) THEN
    RETURN;
  END IF;
  -- By hand: #task#m<id>.
  FOR v_run IN SELECT * FROM lts.runs_of(p_group, p_task) WHERE p_change = 4 OR substr(task_id, length(p_task) + 3, 1) <> 'm' LOOP
    IF v_run.state < 3 THEN
      RETURN NEXT lts.cancel_waiting(v_run, p_ord, p_at, nextval('lts.commits') * 8192, 7,
        'cancelled: its schedule was ' || CASE p_change WHEN 1 THEN 'suspended' ELSE 'deleted' END);
    ELSE
      UPDATE lts.live SET is_last = true WHERE seq = v_run.seq;
      RETURN NEXT lts.outcome(13, p_ord, ARRAY[v_run.seq, v_run.attempts], v_run.id);
    END IF;
  END LOOP;
END $$;

-- A held run becomes ready.
CREATE FUNCTION lts.release_held(p_ord bigint, p_part int, p_seq bigint) RETURNS SETOF lts.outcome LANGUAGE plpgsql AS $$
BEGIN
  UPDATE lts.live SET state = 2, due_at = (SELECT i.due_at FROM lts.instance i WHERE i.id = live.id)
  WHERE seq = p_seq AND part = p_part AND state + 0 = 1 AND due_at = lts.end_of_time();
  IF FOUND THEN
    RETURN QUERY SELECT * FROM lts.ready_rows(ARRAY[p_ord::int], ARRAY[p_seq]);
  END IF;
END $$;

DROP FUNCTION lts.cancel, lts.cancel_waiting;

-- Ends an instance that does not run, as CANCELLED unless a state and a message are given.
CREATE FUNCTION lts.cancel_waiting(p_live lts.live, p_ord bigint, p_at bigint, p_owed bigint, p_state int, p_message text) RETURNS lts.outcome LANGUAGE plpgsql AS $$
DECLARE
  v_owed CONSTANT bigint := CASE WHEN p_live.client_id IS NOT NULL THEN p_owed END;
BEGIN
  DELETE FROM lts.live WHERE seq = p_live.seq;
  INSERT INTO lts.ended (seq, ended_at, id, state, attempts, retry_times, lost_times, owed, message)
  VALUES (p_live.seq, p_at, p_live.id, CASE p_state WHEN 0 THEN 7 ELSE p_state END, p_live.attempts, p_live.retry_times, p_live.lost_times, v_owed,
    CASE WHEN p_state > 0 THEN p_message WHEN p_live.attempts = 0 THEN 'cancelled before it ran' ELSE 'cancelled before its retry' END);
  IF v_owed IS NOT NULL THEN
    INSERT INTO lts.feedback (owed, next_at, id, client_id, part, deliveries, dead, last_error)
    VALUES (v_owed, 0, p_live.id, p_live.client_id, p_live.part, 0, false, '');
  END IF;
  RETURN lts.outcome(12, p_ord, ARRAY[p_live.seq, p_live.state], p_live.id, (SELECT name FROM lts.client_group WHERE client_id = p_live.client_id));
END $$;

-- Cancels one instance (p_id), or the next and the current one of a task with its schedule and all its runs. With a
-- state only what does not run ends, and ends so.
CREATE FUNCTION lts.cancel(p_ord bigint, p_part int, p_group int, p_id uuid, p_task text, p_at bigint, p_owed bigint, p_state int, p_message text)
RETURNS SETOF lts.outcome LANGUAGE plpgsql AS $$
DECLARE
  v_task text := p_task;
  v_live lts.live;
  v_schedule record;
BEGIN
  IF p_id IS NOT NULL THEN
    SELECT i.task_id INTO v_task FROM lts.instance i, lts.node_group g WHERE i.id = p_id AND i.group_id = p_group AND i.answer < 2 AND g.group_id = p_group AND g.part = p_part;
    IF v_task IS NULL THEN
      RETURN;
    END IF;
  END IF;
  SELECT * INTO v_live FROM lts.live WHERE group_id = p_group AND task_id = v_task AND state = 0 AND part = p_part;
  IF FOUND AND (p_id IS NULL OR p_id = v_live.id) THEN
    RETURN NEXT lts.cancel_waiting(v_live, p_ord, p_at, p_owed, p_state, p_message);
    IF p_id IS NOT NULL THEN
      RETURN;
    END IF;
  END IF;
  SELECT * INTO v_live FROM lts.live WHERE group_id = p_group AND task_id = v_task AND state > 0 AND part = p_part;
  IF NOT FOUND OR (p_id IS NOT NULL AND p_id <> v_live.id) THEN
    IF p_id IS NOT NULL THEN
      RETURN NEXT lts.outcome(14, p_ord, NULL, p_id);
    END IF;
  ELSIF v_live.state >= 3 THEN
    IF p_state = 0 THEN
      UPDATE lts.live SET state = 4 WHERE seq = v_live.seq;
      RETURN NEXT lts.outcome(13, p_ord, ARRAY[v_live.seq, v_live.attempts], v_live.id);
    END IF;
  ELSE
    RETURN NEXT lts.cancel_waiting(v_live, p_ord, p_at, p_owed + 1, p_state, p_message);
    RETURN QUERY SELECT * FROM lts.advance(ARRAY[p_ord::int], ARRAY[p_group], ARRAY[v_task], ARRAY[p_at]);
  END IF;
  IF p_id IS NOT NULL THEN
    RETURN;
  END IF;

  SELECT sched, id INTO v_schedule FROM lts.schedule WHERE group_id = p_group AND task_id = p_task AND part = p_part;
  IF FOUND THEN
    PERFORM lts.retire(v_schedule.sched, p_at);
    RETURN NEXT lts.outcome(23, p_ord, NULL, v_schedule.id);
  END IF;
  FOR v_live IN SELECT * FROM lts.runs_of(p_group, p_task) LOOP
    IF v_live.state < 3 THEN
      RETURN NEXT lts.cancel_waiting(v_live, p_ord, p_at, nextval('lts.commits') * 8192, 0, NULL);
    ELSE
      UPDATE lts.live SET state = 4 WHERE seq = v_live.seq;
      RETURN NEXT lts.outcome(13, p_ord, ARRAY[v_live.seq, v_live.attempts], v_live.id);
    END IF;
  END LOOP;
END $$;

-- Ready rows as they enter the ready set of their owner: the last number is the scheduled time. Jobs up to 4 KiB come
-- with them.
CREATE OR REPLACE FUNCTION lts.ready_rows(p_ords int[], p_seqs bigint[]) RETURNS SETOF lts.outcome LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY
  SELECT 6::smallint, p_ords[k], ARRAY[l.seq, l.priority, l.due_at, l.attempts, l.retry_times, l.lost_times, i.due_at], l.id, g.name, i.type, i.policy,
    CASE WHEN octet_length(i.job) <= 4096 THEN i.job END
  FROM generate_subscripts(p_seqs, 1) k,
    LATERAL (SELECT * FROM lts.live WHERE seq = p_seqs[k] OFFSET 0) l,
    LATERAL (SELECT type, policy, job, due_at FROM lts.instance WHERE id = l.id OFFSET 0) i,
    LATERAL (SELECT name FROM lts.node_group WHERE group_id = l.group_id OFFSET 0) g
  ORDER BY k;
END $$;

-- Ends of attempts after which the instance goes on: it waits, or is ready at once. What is being cancelled does not,
-- nor does a run whose schedule is gone or suspended.
CREATE OR REPLACE FUNCTION lts.go_on(p_rows int[], p_ends bigint[], p_messages text[]) RETURNS SETOF lts.outcome LANGUAGE plpgsql AS $$
DECLARE
  v_ords bigint[];
  v_seqs bigint[];
  v_dues bigint[];
  v_ready boolean[];
  v_over bigint[];
BEGIN
  WITH found AS (
    SELECT k, (k - 1) * 12 AS o, l.ctid AS at, l.is_last FROM unnest(p_rows) k,
      LATERAL (SELECT ctid, part, state, attempts, is_last FROM lts.live WHERE seq = p_ends[(k - 1) * 12 + 3] OFFSET 0) l
    WHERE p_ends[(k - 1) * 12 + 9] = 0 AND l.state = 3 AND l.attempts = p_ends[(k - 1) * 12 + 4] AND l.part = p_ends[(k - 1) * 12 + 2]
  ), moved AS (
    UPDATE lts.live l SET due_at = p_ends[o + 10], retry_times = p_ends[o + 11], lost_times = p_ends[o + 12],
      state = CASE WHEN p_ends[o + 10] <= p_ends[o + 8] THEN 2 ELSE 1 END
    FROM found f WHERE l.ctid = f.at AND f.is_last IS NULL
    RETURNING f.k, f.o, l.seq, l.id, l.due_at, l.state, l.attempts, l.worker_id, l.fence, l.assigned_at
  ), kept AS (
    INSERT INTO lts.attempt (id, attempt, outcome, truncated, worker_id, fence, assigned_at, started_at, ended_at, message)
    SELECT id, attempts, p_ends[o + 5], p_ends[o + 6] = 1, worker_id, fence, assigned_at, p_ends[o + 7], p_ends[o + 8], coalesce(p_messages[k], '')
    FROM moved
  )
  SELECT array_agg(p_ends[o + 1]), array_agg(seq), array_agg(due_at), array_agg(state = 2), (SELECT array_agg(p_ends[o + 1]) FROM found WHERE is_last)
  INTO v_ords, v_seqs, v_dues, v_ready, v_over FROM moved;
  IF v_over IS NOT NULL THEN
    RETURN NEXT lts.outcome(17, 0, v_over);
  END IF;
  IF v_ords IS NULL THEN
    RETURN;
  END IF;
  RETURN NEXT lts.outcome(3, 0, v_ords || array_fill(0::bigint, ARRAY[cardinality(v_ords)]));
  RETURN QUERY SELECT (lts.outcome(7, v_ords[k], ARRAY[v_dues[k]])).* FROM generate_subscripts(v_ords, 1) k WHERE NOT v_ready[k];
  IF true = ANY (v_ready) THEN
    RETURN QUERY SELECT * FROM lts.ready_rows(
      ARRAY(SELECT v_ords[k]::int FROM generate_subscripts(v_ords, 1) k WHERE v_ready[k]),
      ARRAY(SELECT v_seqs[k] FROM generate_subscripts(v_ords, 1) k WHERE v_ready[k]));
  END IF;
END $$;

-- Step 1 for an admit whose id or task is taken, or was a moment ago. p_row: which row of p_admits.
CREATE OR REPLACE FUNCTION lts.admit_beside(
  p_row int, p_seq bigint, p_admits bigint[], p_id uuid, p_task text, p_jobs bytea, p_group int, p_part int, p_worker int
) RETURNS SETOF lts.outcome LANGUAGE plpgsql AS $$
DECLARE
  o CONSTANT int := (p_row - 1) * 13;
  v_ord CONSTANT bigint := p_admits[o + 1];
  v_due CONSTANT bigint := p_admits[o + 7];
  v_created CONSTANT bigint := p_admits[o + 8];
  v_flags CONSTANT int := p_admits[o + 9];
  v_starts CONSTANT boolean := p_admits[o + 12] >= 0 AND v_due <= v_created;
  v_state smallint := CASE WHEN v_starts THEN 3 WHEN v_due <= v_created THEN 2 ELSE 1 END;
  v_mine record;
  v_old lts.live;
  v_schedule lts.schedule;
BEGIN
  SELECT * INTO v_schedule FROM lts.schedule WHERE id = p_id;
  IF FOUND THEN
    DELETE FROM lts.instance WHERE id = p_id;
    RETURN NEXT lts.outcome(11, v_ord, ARRAY[CASE WHEN v_schedule.related_id IS NULL THEN 3 ELSE 4 END], v_schedule.related_id,
      job => CASE WHEN v_schedule.job <> substring(p_jobs FROM p_admits[o + 10]::int FOR p_admits[o + 11]::int) THEN v_schedule.job END);
    RETURN;
  END IF;
  SELECT seq, answer, related_id, client_id, priority, CASE WHEN job <> substring(p_jobs FROM p_admits[o + 10]::int FOR p_admits[o + 11]::int) THEN job END AS other
  INTO STRICT v_mine FROM lts.instance WHERE id = p_id;
  IF v_mine.seq <> p_seq THEN
    RETURN NEXT lts.outcome(11, v_ord, ARRAY[v_mine.answer], v_mine.related_id, job => v_mine.other);
    RETURN;
  END IF;

  SELECT * INTO v_schedule FROM lts.schedule WHERE group_id = p_group AND task_id = p_task;
  SELECT * INTO v_old FROM lts.live WHERE group_id = p_group AND task_id = p_task AND state = 0;
  IF NOT FOUND THEN
    SELECT * INTO v_old FROM lts.live WHERE group_id = p_group AND task_id = p_task AND state > 0;
  END IF;
  IF v_schedule.sched IS NULL AND (v_old.seq IS NULL OR v_old.state >= 3) THEN
    -- The task is free, or its current instance runs and nothing waits behind it yet.
    v_state := CASE WHEN v_old.seq IS NULL THEN v_state ELSE 0 END;
    RETURN NEXT lts.outcome(8, v_ord, ARRAY[p_seq, v_state]);
  ELSIF v_schedule.sched IS NOT NULL OR v_flags & 4 = 0 OR (v_flags & 8 <> 0 AND p_id < v_old.id) THEN
    -- Only an id that the client made can come again: it stays, as an ended row that is no instance.
    IF v_flags & 1 = 0 THEN
      DELETE FROM lts.instance WHERE id = p_id;
    ELSE
      UPDATE lts.instance SET answer = 2, related_id = coalesce(v_schedule.id, v_old.id) WHERE id = p_id;
      INSERT INTO lts.ended (seq, ended_at, id, state, attempts, retry_times, lost_times, message) VALUES (p_seq, v_created, p_id, 10, 0, 0, 0, '');
    END IF;
    RETURN NEXT lts.outcome(10, v_ord, NULL, coalesce(v_schedule.id, v_old.id));
    RETURN;
  ELSE
    UPDATE lts.instance SET answer = 1, related_id = v_old.id WHERE id = p_id;
    DELETE FROM lts.live WHERE seq = v_old.seq;
    INSERT INTO lts.ended (seq, ended_at, id, state, attempts, retry_times, lost_times, message)
    VALUES (v_old.seq, v_created, v_old.id, 8, v_old.attempts, v_old.retry_times, v_old.lost_times, 'replaced by ' || p_id);
    v_state := CASE WHEN v_old.state = 0 THEN 0 ELSE v_state END;
    RETURN NEXT lts.outcome(9, v_ord, ARRAY[p_seq, v_state, v_old.seq, v_old.state], v_old.id);
  END IF;
  INSERT INTO lts.live (seq, due_at, id, part, group_id, priority, client_id, state, attempts, retry_times, lost_times, worker_id, fence, assigned_at, task_id)
  VALUES (p_seq, v_due, p_id, p_part, p_group, v_mine.priority, v_mine.client_id, v_state, CASE WHEN v_state = 3 THEN 1 ELSE 0 END, 0, 0,
    CASE WHEN v_state = 3 THEN p_worker END, CASE WHEN v_state = 3 THEN p_admits[o + 12] END, CASE WHEN v_state = 3 THEN v_created END, p_task);
END $$;

-- Whether an admit of a round has the task or the id of a live schedule. Where its groups have none it is one look.
CREATE FUNCTION lts.meets_schedule(p_admit int, p_admit_count int, p_group_ids int[], p_admits bigint[], p_ids uuid[], p_tasks text[])
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RETURN EXISTS (SELECT 1 FROM lts.schedule WHERE group_id = ANY (p_group_ids)) AND EXISTS (
    SELECT 1 FROM generate_series(p_admit + 1, p_admit + p_admit_count) k
    WHERE (SELECT 1 FROM lts.schedule WHERE group_id = p_group_ids[p_admits[(k - 1) * 13 + 2]] AND task_id = p_tasks[k] LIMIT 1) IS NOT NULL
      OR (SELECT 1 FROM lts.schedule WHERE id = p_ids[k] LIMIT 1) IS NOT NULL);
END $$;

-- Step 1 where no admit meets a task that lives or an id that is known, as nearly always: then nothing has to be looked up
-- before it is inserted, which is what costs the most of it. Gives the arrivals; NULL, and nothing is stored: one of them does.
CREATE FUNCTION lts.admit_free(
  p_admit int, p_seqs bigint[], p_group_ids int[], p_group_parts int[], p_client_ids int[], p_worker_ids int[], p_texts text[],
  p_admits bigint[], p_ids uuid[], p_tasks text[], p_jobs bytea
) RETURNS bigint[] LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO lts.instance (seq, created_at, due_at, id, group_id, priority, client_id, answer, task_id, type, policy, job)
  SELECT p_seqs[k], p_admits[o + 8], p_admits[o + 7], p_ids[p_admit + k], p_group_ids[p_admits[o + 2]], p_admits[o + 6], p_client_ids[p_admits[o + 3]], 0,
    p_tasks[p_admit + k], p_texts[p_admits[o + 4]], p_texts[p_admits[o + 5]], substring(p_jobs FROM p_admits[o + 10]::int FOR p_admits[o + 11]::int)
  FROM (SELECT k, (p_admit + k - 1) * 13 AS o FROM generate_subscripts(p_seqs, 1) k) a;
  INSERT INTO lts.live (seq, due_at, id, part, group_id, priority, client_id, state, attempts, retry_times, lost_times, worker_id, fence, assigned_at, task_id)
  SELECT p_seqs[k], p_admits[o + 7], p_ids[p_admit + k], p_group_parts[p_admits[o + 2]], p_group_ids[p_admits[o + 2]], p_admits[o + 6],
    p_client_ids[p_admits[o + 3]], CASE WHEN waits THEN 1 WHEN starts THEN 3 ELSE 2 END, CASE WHEN starts THEN 1 ELSE 0 END, 0, 0,
    CASE WHEN starts THEN p_worker_ids[p_admits[o + 13]] END, CASE WHEN starts THEN p_admits[o + 12] END, CASE WHEN starts THEN p_admits[o + 8] END,
    p_tasks[p_admit + k]
  FROM (
    SELECT k, o, p_admits[o + 7] > p_admits[o + 8] AS waits, p_admits[o + 7] <= p_admits[o + 8] AND p_admits[o + 12] >= 0 AS starts
    FROM (SELECT k, (p_admit + k - 1) * 13 AS o FROM generate_subscripts(p_seqs, 1) k) a
    OFFSET 0
  ) b;
  RETURN p_seqs;
EXCEPTION WHEN unique_violation THEN
  RETURN NULL;
END $$;

-- One round: rows p_admit + 1 to p_admit + p_admit_count of p_admits, and likewise of the others.
CREATE FUNCTION lts.apply_round(
  p_admit int, p_admit_count int, p_hand int, p_hand_count int, p_end int, p_end_count int,
  p_group_ids int[], p_group_parts int[], p_client_ids int[], p_worker_ids int[], p_texts text[],
  p_admits bigint[], p_ids uuid[], p_tasks text[], p_jobs bytea, p_hands bigint[], p_ends bigint[], p_messages text[], p_owed bigint, p_careful boolean
) RETURNS SETOF lts.outcome LANGUAGE plpgsql AS $$
DECLARE
  v_seqs bigint[];
  v_first bigint;
  v_dense boolean;
  v_placed bigint[];
  v_ords bigint[];
  v_beside int[] := '{}';
  -- Arrivals whose hand-outs and ends run in order.
  v_ordered bigint[] := '{}';
  v_hands int[];
  v_handed int := 0;
  v_ends int[];
  v_out lts.outcome;
  v_one record;
  -- A transition before this round may have drawn numbers of its own.
  v_owed CONSTANT bigint := currval('lts.commits') * 8192;
  v_scheduled CONSTANT boolean := p_admit_count > 0 AND lts.meets_schedule(p_admit, p_admit_count, p_group_ids, p_admits, p_ids, p_tasks);
BEGIN
  IF p_admit_count > 0 THEN
    v_seqs := ARRAY(SELECT nextval('lts.seq') FROM generate_series(1, p_admit_count));
    v_first := v_seqs[1];
    -- Another tracker may have drawn numbers in between.
    v_dense := v_seqs[p_admit_count] - v_first = p_admit_count - 1;
    v_placed := CASE WHEN p_careful OR v_scheduled THEN NULL ELSE lts.admit_free(
      p_admit, v_seqs, p_group_ids, p_group_parts, p_client_ids, p_worker_ids, p_texts, p_admits, p_ids, p_tasks, p_jobs) END;
    IF v_placed IS NULL THEN
      WITH taken AS (
        INSERT INTO lts.instance (seq, created_at, due_at, id, group_id, priority, client_id, answer, task_id, type, policy, job)
        SELECT v_seqs[k], p_admits[o + 8], p_admits[o + 7], p_ids[p_admit + k], p_group_ids[p_admits[o + 2]], p_admits[o + 6], p_client_ids[p_admits[o + 3]], 0,
          p_tasks[p_admit + k], p_texts[p_admits[o + 4]], p_texts[p_admits[o + 5]], substring(p_jobs FROM p_admits[o + 10]::int FOR p_admits[o + 11]::int)
        FROM (SELECT k, (p_admit + k - 1) * 13 AS o FROM generate_series(1, p_admit_count) k) a
        ON CONFLICT (id) DO NOTHING
        RETURNING seq, due_at, created_at, id, group_id, priority, client_id, task_id
      ), placed AS (
        INSERT INTO lts.live (seq, due_at, id, part, group_id, priority, client_id, state, attempts, retry_times, lost_times, worker_id, fence, assigned_at, task_id)
        SELECT seq, due_at, id, p_group_parts[p_admits[o + 2]], group_id, priority, client_id,
          CASE WHEN due_at > created_at THEN 1 WHEN p_admits[o + 12] < 0 THEN 2 ELSE 3 END,
          CASE WHEN starts THEN 1 ELSE 0 END, 0, 0,
          CASE WHEN starts THEN p_worker_ids[p_admits[o + 13]] END, CASE WHEN starts THEN p_admits[o + 12] END, CASE WHEN starts THEN created_at END, task_id
        FROM (
          SELECT *, due_at <= created_at AND p_admits[o + 12] >= 0 AS starts FROM (
            SELECT *, (p_admit - 1 + CASE WHEN v_dense THEN seq - v_first + 1 ELSE array_position(v_seqs, seq) END)::int * 13 AS o FROM taken OFFSET 0
          ) t
        ) u
        WHERE NOT v_scheduled OR (
          (SELECT 1 FROM lts.schedule s WHERE s.group_id = u.group_id AND s.task_id = u.task_id LIMIT 1) IS NULL
          AND (SELECT 1 FROM lts.schedule s WHERE s.id = u.id LIMIT 1) IS NULL)
        ON CONFLICT DO NOTHING
        RETURNING seq
      )
      SELECT array_agg(seq) INTO v_placed FROM placed;
    END IF;
    IF cardinality(v_placed) = p_admit_count THEN
      v_ords := ARRAY(SELECT p_admits[(p_admit + k - 1) * 13 + 1] FROM generate_series(1, p_admit_count) k);
    ELSE
      v_beside := ARRAY(SELECT array_position(v_seqs, s) FROM (SELECT unnest(v_seqs) AS s EXCEPT SELECT unnest(v_placed)) l ORDER BY s);
      v_ords := ARRAY(SELECT p_admits[(p_admit + array_position(v_seqs, s) - 1) * 13 + 1] FROM unnest(v_placed) s);
    END IF;
    IF v_placed IS NOT NULL THEN
      RETURN NEXT lts.outcome(1, 0, v_ords || v_placed);
    END IF;
  END IF;

  IF cardinality(v_beside) > 0 AND p_hand_count + p_end_count > 0 THEN
    v_ordered := lts.live_among(
      ARRAY(SELECT p_group_ids[p_admits[(p_admit + k - 1) * 13 + 2]] FROM unnest(v_beside) k), ARRAY(SELECT p_tasks[p_admit + k] FROM unnest(v_beside) k));
  END IF;

  IF p_hand_count > 0 THEN
    v_hands := ARRAY(SELECT k FROM generate_series(p_hand + 1, p_hand + p_hand_count) k WHERE p_hands[(k - 1) * 8 + 3] <> ALL (v_ordered));
    FOR v_out IN SELECT * FROM lts.hand_out(v_hands, p_hands, p_worker_ids) LOOP
      RETURN NEXT v_out;
      v_handed := v_handed + CASE WHEN v_out.what = 2 THEN cardinality(v_out.numbers) ELSE 0 END;
    END LOOP;
    IF v_handed < cardinality(v_hands) AND p_end_count > 0 THEN
      -- A start of a blocked instance waits for what the round does to the one before it.
      SELECT v_ordered || lts.live_among(array_agg(b.group_id), array_agg(b.task_id)) INTO v_ordered
      FROM unnest(v_hands) k, LATERAL (SELECT group_id, task_id, state FROM lts.live WHERE seq = p_hands[(k - 1) * 8 + 3] OFFSET 0) b
      WHERE b.state = 0;
    END IF;
  END IF;
  IF p_end_count > 0 THEN
    v_ends := ARRAY(SELECT k FROM generate_series(p_end + 1, p_end + p_end_count) k WHERE p_ends[(k - 1) * 12 + 3] <> ALL (v_ordered));
    RETURN QUERY SELECT * FROM lts.finish(v_ends, p_ends, p_messages, v_owed);
  END IF;
  IF cardinality(v_beside) = 0 AND cardinality(v_ordered) = 0 THEN
    RETURN;
  END IF;

  FOR v_one IN
    SELECT 1 AS kind, k, p_admits[(p_admit + k - 1) * 13 + 1] AS ord FROM unnest(v_beside) k
    UNION ALL SELECT 2, k, p_hands[(k - 1) * 8 + 1] FROM generate_series(p_hand + 1, p_hand + p_hand_count) k
      WHERE p_hands[(k - 1) * 8 + 3] = ANY (v_ordered)
    UNION ALL SELECT 3, k, p_ends[(k - 1) * 12 + 1] FROM generate_series(p_end + 1, p_end + p_end_count) k WHERE p_ends[(k - 1) * 12 + 3] = ANY (v_ordered)
    ORDER BY 3
  LOOP
    CASE v_one.kind
      WHEN 1 THEN
        RETURN QUERY SELECT * FROM lts.admit_beside(p_admit + v_one.k, v_seqs[v_one.k], p_admits, p_ids[p_admit + v_one.k], p_tasks[p_admit + v_one.k], p_jobs,
          p_group_ids[p_admits[(p_admit + v_one.k - 1) * 13 + 2]], p_group_parts[p_admits[(p_admit + v_one.k - 1) * 13 + 2]],
          p_worker_ids[p_admits[(p_admit + v_one.k - 1) * 13 + 13]]);
      WHEN 2 THEN
        RETURN QUERY SELECT * FROM lts.hand_out(ARRAY[v_one.k], p_hands, p_worker_ids);
      ELSE
        RETURN QUERY SELECT * FROM lts.finish(ARRAY[v_one.k], p_ends, p_messages, v_owed);
    END CASE;
  END LOOP;
END $$;

-- A transition that runs on its own. p_texts: two for each row.
CREATE OR REPLACE FUNCTION lts.apply_alone(p_row int, p_alone bigint[], p_texts text[], p_group_ids int[], p_owed bigint) RETURNS SETOF lts.outcome LANGUAGE plpgsql AS $$
DECLARE
  o CONSTANT int := (p_row - 1) * 6;
  v_ord CONSTANT bigint := p_alone[o + 1];
  v_part CONSTANT int := p_alone[o + 3];
  v_group CONSTANT int := p_group_ids[p_alone[o + 4]];
  v_text CONSTANT text := p_texts[2 * p_row - 1];
  v_more CONSTANT text := p_texts[2 * p_row];
  v_owed CONSTANT bigint := currval('lts.commits') * 8192 + 2 * v_ord;
BEGIN
  CASE p_alone[o + 2]
    WHEN 1 THEN
      RETURN QUERY SELECT * FROM lts.cancel(v_ord, v_part, v_group, v_text::uuid, NULL, p_alone[o + 5], v_owed, p_alone[o + 6]::int, v_more);
    WHEN 2 THEN
      RETURN QUERY SELECT * FROM lts.cancel(v_ord, v_part, v_group, NULL, v_text, p_alone[o + 5], v_owed, 0, NULL);
    WHEN 3 THEN
      RETURN QUERY SELECT * FROM lts.promote(v_ord, v_part, p_alone[o + 5], p_alone[o + 6]::int);
    WHEN 4 THEN
      RETURN QUERY SELECT * FROM lts.late(v_ord, v_part, v_text::uuid, p_alone[o + 5]::int, p_alone[o + 6]::smallint, v_more);
    WHEN 5 THEN
      UPDATE lts.node_group SET backlog = (v_text::json ->> 'backlog')::bigint, max_running = (v_text::json ->> 'maxRunning')::bigint,
        starts_per_second = (v_text::json ->> 'startsPerSecond')::double precision
      WHERE group_id = v_group;
    WHEN 6 THEN
      RETURN QUERY SELECT * FROM lts.enroll(v_text, v_more, p_group_ids);
    WHEN 7 THEN
      RETURN QUERY SELECT * FROM lts.fire(v_text, v_more, p_alone[o + 5], p_alone[o + 6]::int);
    WHEN 8 THEN
      RETURN QUERY SELECT * FROM lts.alter_schedule(v_ord, v_part, v_group, v_text, p_alone[o + 6]::int,
        (v_more::json ->> 'next')::bigint, (v_more::json ->> 'version')::bigint, p_alone[o + 5]);
    WHEN 9 THEN
      RETURN QUERY SELECT * FROM lts.release_held(v_ord, v_part, p_alone[o + 5]);
  END CASE;
END $$;

-- With p_careful; trackers of the former release go on calling the function without it.
-- Applies a batch under these epochs, whose partitions are sorted. p_rounds: for each round how many admits, hand-outs
-- and ends it has; three zeros: the next one of p_alone. p_careful: an admit is likely to meet what is taken. Raises LT001 when an epoch is not current.
CREATE FUNCTION lts.commit(
  p_parts int[], p_epochs bigint[], p_groups text[], p_group_parts int[], p_clients text[], p_workers text[], p_used_at bigint, p_texts text[], p_rounds int[],
  p_admits bigint[], p_ids uuid[], p_tasks text[], p_jobs bytea, p_hands bigint[], p_ends bigint[], p_messages text[], p_alone bigint[], p_alone_texts text[], p_careful boolean
) RETURNS SETOF lts.outcome LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan SET jit = off AS $$
DECLARE
  -- Before anything is changed.
  v_held CONSTANT boolean := lts.check_epochs(p_parts, p_epochs);
  -- Numbers of one commit for what it owes: at most 4,095 transitions of two results each.
  v_owed CONSTANT bigint := nextval('lts.commits') * 8192;
  v_group_ids CONSTANT int[] := CASE WHEN p_groups <> '{}' THEN lts.group_ids(p_groups, p_group_parts) END;
  v_client_ids CONSTANT int[] := CASE WHEN p_clients <> '{}' THEN lts.client_ids(p_clients) END;
  v_worker_ids CONSTANT int[] := CASE WHEN p_workers <> '{}' THEN lts.worker_ids(p_workers, p_used_at) END;
  v_at int := 0;
  v_admit int := 0;
  v_hand int := 0;
  v_end int := 0;
  v_alone int := 0;
BEGIN
  WHILE v_at < cardinality(p_rounds) LOOP
    IF p_rounds[v_at + 1] + p_rounds[v_at + 2] + p_rounds[v_at + 3] = 0 THEN
      v_alone := v_alone + 1;
      RETURN QUERY SELECT * FROM lts.apply_alone(v_alone, p_alone, p_alone_texts, v_group_ids, v_owed);
    ELSE
      RETURN QUERY SELECT * FROM lts.apply_round(
        v_admit, p_rounds[v_at + 1], v_hand, p_rounds[v_at + 2], v_end, p_rounds[v_at + 3], v_group_ids, p_group_parts, v_client_ids, v_worker_ids, p_texts,
        p_admits, p_ids, p_tasks, p_jobs, p_hands, p_ends, p_messages, v_owed, p_careful);
      v_admit := v_admit + p_rounds[v_at + 1];
      v_hand := v_hand + p_rounds[v_at + 2];
      v_end := v_end + p_rounds[v_at + 3];
    END IF;
    v_at := v_at + 3;
  END LOOP;
  RETURN;
END $$;
