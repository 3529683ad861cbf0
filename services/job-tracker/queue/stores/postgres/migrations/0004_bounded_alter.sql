-- The end of very many runs of a task, when its schedule is suspended or deleted, or the task is cancelled, takes several
-- commits. Additive: trackers of the former release go on, and end all of them at once. One that takes a partition over in
-- between knows nothing of what is left, and hands it out until a tracker of this release takes it. This file is frozen:
-- changes come as further numbered files.
--
-- What comes in lts.commit among those that run on their own (p_alone), in place of what 0003 says of it:
--   2 cancel by task   b: how many runs it takes on, 0: all; texts: task, "halted" or nothing
--   8 alter            texts: task, JSON {next, version, most, halted}
--   10 ends runs       a: at, b: 1 suspend, 2 delete, 3 cancel; texts: task, how many it looks at
-- Further outcomes:
--   22 altered (4 there are too many runs)   24 runs are left   25 nothing is cancelled, there are too many runs

-- Runs of a task that are to end. The row goes with the last of them; until then their owner hands out none of the task.
CREATE TABLE lts.left_runs (
  part int NOT NULL,
  group_id int NOT NULL,
  -- 1 suspend, 2 delete, 3 cancel.
  change smallint NOT NULL,
  -- A number between the arrivals before the change and those after it, which are not meant.
  last_seq bigint NOT NULL,
  task_id text NOT NULL COLLATE "C",
  -- The task key with which the next look begins.
  next_key text NOT NULL COLLATE "C",
  PRIMARY KEY (part, group_id, task_id, change)
);

-- Live runs of a task by their keys, from this one on.
CREATE FUNCTION lts.runs_from(p_group int, p_task text, p_key text, p_most int) RETURNS SETOF lts.live LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY
  SELECT * FROM (
    (SELECT * FROM lts.live WHERE group_id = p_group AND task_id >= greatest('#' || p_task || '#', p_key COLLATE "C") AND task_id < '#' || p_task || '$' AND state > 0
     ORDER BY group_id, task_id LIMIT p_most)
    UNION ALL
    (SELECT * FROM lts.live WHERE group_id = p_group AND task_id >= greatest('$' || p_task || '#', p_key COLLATE "C") AND task_id < '$' || p_task || '$' AND state > 0
     ORDER BY group_id, task_id LIMIT p_most)) l
  ORDER BY l.task_id LIMIT p_most;
END $$;

CREATE FUNCTION lts.has_more_runs(p_group int, p_task text, p_most int) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RETURN (SELECT count(*) FROM lts.runs_from(p_group, p_task, '', p_most + 1)) > p_most;
END $$;

-- Runs of a task that workers have, looked for among all that workers have of the partition.
CREATE FUNCTION lts.running_of(p_part int, p_group int, p_task text) RETURNS SETOF lts.live LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY
  SELECT * FROM (SELECT * FROM lts.live WHERE part = p_part AND state >= 3 ORDER BY part, seq OFFSET 0) l
  WHERE l.group_id = p_group
    AND (l.task_id >= '#' || p_task || '#' AND l.task_id < '#' || p_task || '$' OR l.task_id >= '$' || p_task || '#' AND l.task_id < '$' || p_task || '$');
END $$;

-- Its live runs get further attempts again.
CREATE OR REPLACE FUNCTION lts.let_go_on(p_group int, p_task text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_many CONSTANT boolean := lts.has_more_runs(p_group, p_task, 1000);
  v_part CONSTANT int := (SELECT part FROM lts.node_group WHERE group_id = p_group);
BEGIN
  UPDATE lts.live SET is_last = NULL WHERE seq = ANY (ARRAY(
    SELECT seq FROM lts.runs_of(p_group, p_task) WHERE NOT v_many AND is_last
    UNION ALL SELECT seq FROM lts.running_of(v_part, p_group, p_task) WHERE v_many AND is_last));
END $$;

CREATE FUNCTION lts.is_spared(p_task text, p_key text, p_by int) RETURNS boolean LANGUAGE sql IMMUTABLE AS
-- By hand: #task#m<id>.
$$ SELECT $3 = 1 AND substr($2, length($1) + 3, 1) = 'm' $$;

-- Ends a run that waits.
CREATE FUNCTION lts.end_run(p_run lts.live, p_ord bigint, p_by int, p_at bigint) RETURNS lts.outcome LANGUAGE plpgsql AS $$
BEGIN
  RETURN lts.cancel_waiting(p_run, p_ord, p_at, nextval('lts.commits') * 8192, CASE WHEN p_by < 3 THEN 7 ELSE 0 END,
    CASE p_by WHEN 1 THEN 'cancelled: its schedule was suspended' WHEN 2 THEN 'cancelled: its schedule was deleted' END);
END $$;

-- Goes on with what is left.
CREATE FUNCTION lts.end_left(p_ord bigint, p_part int, p_group int, p_task text, p_by int, p_at bigint, p_most int) RETURNS SETOF lts.outcome LANGUAGE plpgsql AS $$
DECLARE
  v_note lts.left_runs;
  v_next text;
  v_run lts.live;
BEGIN
  SELECT * INTO v_note FROM lts.left_runs WHERE part = p_part AND group_id = p_group AND task_id = p_task AND change = p_by;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  SELECT task_id INTO v_next FROM lts.runs_from(p_group, p_task, v_note.next_key, p_most + 1) OFFSET p_most;
  FOR v_run IN SELECT * FROM lts.runs_from(p_group, p_task, v_note.next_key, p_most) r
    WHERE r.seq <= v_note.last_seq AND r.state < 3 AND NOT lts.is_spared(p_task, r.task_id, p_by) ORDER BY r.seq
  LOOP
    RETURN NEXT lts.end_run(v_run, p_ord, p_by, p_at);
  END LOOP;
  IF v_next IS NULL THEN
    DELETE FROM lts.left_runs WHERE part = p_part AND group_id = p_group AND task_id = p_task AND change = p_by;
  ELSE
    UPDATE lts.left_runs SET next_key = v_next WHERE part = p_part AND group_id = p_group AND task_id = p_task AND change = p_by;
    RETURN NEXT lts.outcome(24, p_ord, NULL);
  END IF;
END $$;

-- Stops the live runs of a task: what waits ends, what runs has its last attempt, or is told to stop. When there are more
-- than p_most, those that wait are left in part.
CREATE FUNCTION lts.stop_runs(p_ord bigint, p_part int, p_group int, p_task text, p_by int, p_at bigint, p_most int) RETURNS SETOF lts.outcome LANGUAGE plpgsql AS $$
DECLARE
  v_many CONSTANT boolean := coalesce(p_most > 0 AND lts.has_more_runs(p_group, p_task, p_most), false);
  v_run lts.live;
BEGIN
  FOR v_run IN SELECT * FROM (
      SELECT * FROM lts.runs_of(p_group, p_task) WHERE NOT v_many UNION ALL SELECT * FROM lts.running_of(p_part, p_group, p_task) WHERE v_many) r
    WHERE NOT lts.is_spared(p_task, r.task_id, p_by) ORDER BY r.seq
  LOOP
    IF v_run.state < 3 THEN
      RETURN NEXT lts.end_run(v_run, p_ord, p_by, p_at);
    ELSE
      UPDATE lts.live SET state = CASE WHEN p_by = 3 THEN 4 ELSE state END, is_last = CASE WHEN p_by < 3 THEN true ELSE is_last END WHERE seq = v_run.seq;
      RETURN NEXT lts.outcome(13, p_ord, ARRAY[v_run.seq, v_run.attempts], v_run.id);
    END IF;
  END LOOP;
  IF v_many THEN
    INSERT INTO lts.left_runs (part, group_id, change, last_seq, task_id, next_key) VALUES (p_part, p_group, p_by, nextval('lts.seq'), p_task, '')
    ON CONFLICT (part, group_id, task_id, change) DO UPDATE SET last_seq = excluded.last_seq, next_key = '';
    RETURN QUERY SELECT * FROM lts.end_left(p_ord, p_part, p_group, p_task, p_by, p_at, p_most);
  END IF;
END $$;

-- Suspends, resumes or deletes a schedule, or sets its next time. p_most: how many of its runs it takes on, NULL: all.
CREATE FUNCTION lts.alter_schedule(
  p_ord bigint, p_part int, p_group int, p_task text, p_change int, p_next bigint, p_version bigint, p_at bigint, p_most int, p_halted boolean
) RETURNS SETOF lts.outcome LANGUAGE plpgsql AS $$
DECLARE
  v_schedule lts.schedule;
  v_next bigint;
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
  IF p_change IN (1, 4) AND p_most > 0 AND NOT p_halted AND lts.has_more_runs(p_group, p_task, p_most) THEN
    RETURN NEXT lts.outcome(22, p_ord, ARRAY[4, v_schedule.sched, v_schedule.version]);
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
  ELSIF p_change IN (1, 4) THEN
    RETURN QUERY SELECT * FROM lts.stop_runs(p_ord, p_part, p_group, p_task, CASE p_change WHEN 1 THEN 1 ELSE 2 END, p_at, p_most);
  END IF;
END $$;

-- For calls that are on their way while this file runs.
CREATE OR REPLACE FUNCTION lts.alter_schedule(p_ord bigint, p_part int, p_group int, p_task text, p_change int, p_next bigint, p_version bigint, p_at bigint)
RETURNS SETOF lts.outcome LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY SELECT * FROM lts.alter_schedule(p_ord, p_part, p_group, p_task, p_change, p_next, p_version, p_at, NULL, NULL);
END $$;

-- Cancels the next and the current one of a task, its schedule and its runs.
CREATE FUNCTION lts.cancel_task(p_ord bigint, p_part int, p_group int, p_task text, p_at bigint, p_owed bigint, p_most int, p_halted boolean)
RETURNS SETOF lts.outcome LANGUAGE plpgsql AS $$
DECLARE
  v_id uuid;
  v_schedule record;
BEGIN
  IF NOT p_halted AND lts.has_more_runs(p_group, p_task, p_most) THEN
    RETURN NEXT lts.outcome(25, p_ord, NULL);
    RETURN;
  END IF;
  FOR v_id IN
    SELECT id FROM lts.live WHERE group_id = p_group AND task_id = p_task AND state = 0 AND part = p_part
    UNION ALL SELECT id FROM lts.live WHERE group_id = p_group AND task_id = p_task AND state > 0 AND part = p_part
  LOOP
    RETURN QUERY SELECT * FROM lts.cancel(p_ord, p_part, p_group, v_id, NULL, p_at, p_owed, 0, NULL);
  END LOOP;
  SELECT sched, id INTO v_schedule FROM lts.schedule WHERE group_id = p_group AND task_id = p_task AND part = p_part;
  IF FOUND THEN
    PERFORM lts.retire(v_schedule.sched, p_at);
    RETURN NEXT lts.outcome(23, p_ord, NULL, v_schedule.id);
  END IF;
  RETURN QUERY SELECT * FROM lts.stop_runs(p_ord, p_part, p_group, p_task, 3, p_at, p_most);
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
      IF p_alone[o + 6] = 0 THEN
        RETURN QUERY SELECT * FROM lts.cancel(v_ord, v_part, v_group, NULL, v_text, p_alone[o + 5], v_owed, 0, NULL);
      ELSE
        RETURN QUERY SELECT * FROM lts.cancel_task(v_ord, v_part, v_group, v_text, p_alone[o + 5], v_owed, p_alone[o + 6]::int, v_more = 'halted');
      END IF;
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
      RETURN QUERY SELECT * FROM lts.alter_schedule(v_ord, v_part, v_group, v_text, p_alone[o + 6]::int, (v_more::json ->> 'next')::bigint,
        (v_more::json ->> 'version')::bigint, p_alone[o + 5], (v_more::json ->> 'most')::int, (v_more::json ->> 'halted')::boolean);
    WHEN 9 THEN
      RETURN QUERY SELECT * FROM lts.release_held(v_ord, v_part, p_alone[o + 5]);
    WHEN 10 THEN
      RETURN QUERY SELECT * FROM lts.end_left(v_ord, v_part, v_group, v_text, p_alone[o + 6]::int, p_alone[o + 5], v_more::int);
  END CASE;
END $$;
