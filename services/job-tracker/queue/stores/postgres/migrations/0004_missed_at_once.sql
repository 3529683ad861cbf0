-- One fire answers all times that were missed: the newest 1,000 and the row that sums up the older ones. This file is
-- frozen: changes come as further numbered files.

-- Makes runs and rows of passed times, and moves their schedules on.
CREATE OR REPLACE FUNCTION lts.fire(p_fires text, p_workers text, p_used_at bigint, p_most int) RETURNS SETOF lts.outcome LANGUAGE plpgsql AS $$
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
