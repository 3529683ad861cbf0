-- The transitions. This file is frozen: changes come as further numbered files.
--
-- One commit is one call of lts.commit, and one statement is one transaction: a client that stalls holds no lock, and
-- no state of the session is used, so that a pooler may stand between.
--
--   lts.commit ── locks the ownership rows in order, compares the epochs (LT001)
--     ├─ lts.apply_round   admits, hand-outs and ends that do not touch each other, each kind as a few statements
--     │    └─ lts.admit_beside, lts.hand_out, lts.finish   in order, one by one, those that do
--     └─ lts.apply_alone   cancel, promote, late, limit
--
-- Order. The batch must do what its transitions would do one after the other. The client cuts it into rounds, so that
-- within a round no two hand-outs or ends name the same arrival. An admit whose task is free commutes with all others of
-- its round. What is left are admits that meet a task that lives, starts of a blocked instance, and the ends and
-- hand-outs of the same tasks: these few run last, one by one in their order.
--
-- Plans. They are made once per session and must not depend on what the statistics said then: a plan that was made while
-- a table was empty would walk all of it later. So rows are looked up by LATERAL subqueries behind OFFSET 0, which leave
-- only their index to the planner, and are changed by their ctid; and the settings of the outermost function forbid what
-- reads whole tables. The ctid cannot move meanwhile: rows of a partition are changed under the lock of its ownership.
--
-- Numbers of a kind come as one array, row after row:
--   admits  13: ord, group, client, type, policy, priority, due_at, created_at, flags, job at, job length, fence, worker
--               flags: 1 the client made the id, 4 replaces, 8 was kept in a FailStore. fence -1: not handed out
--   hands    8: ord, part, seq, attempt, fence, worker, at, flags (1 wants the job, 2 reassign)
--   ends    12: ord, part, seq, attempt, outcome, truncated, started_at, at, state (0: goes on), due_at, retry_times, lost_times
--   alone    6: ord, kind (1 cancel by id, 2 cancel by task, 3 promote, 4 late, 5 limit), part, group, a, b
-- ord is the place in the batch, from 1. group, client, type, policy and worker are places in arrays of names, 0: none.

CREATE TYPE lts.outcome AS (
  -- 1 admitted (ords, then seqs)   2 handed out (ords)   3 ended (ords, then clients)   4 name of client ord
  -- 5 job   6 ready (seq, priority, due_at, attempts, retry_times, lost_times)   7 waits (due_at)
  -- 8 admitted beside (seq, placement)   9 replaced (seq, placement, existing seq, its placement)   10 duplicate
  -- 11 again (answer; the stored job when its bytes differ)   12 cancelled (seq, placement; the client's name)
  -- 13 cancelling (seq, attempt)   14 was over   15 next due_at   16 known
  what smallint,
  ord int,
  numbers bigint[],
  id uuid,
  name text,
  type text,
  policy text,
  job bytea
);

CREATE FUNCTION lts.outcome(what int, ord bigint, numbers bigint[], id uuid DEFAULT NULL, name text DEFAULT NULL, job bytea DEFAULT NULL)
RETURNS lts.outcome LANGUAGE sql IMMUTABLE AS
$$ SELECT ROW($1::smallint, $2::int, $3, $4, $5, NULL, NULL, $6)::lts.outcome $$;

-- Node groups by name; one that is not known is made when its partition is given (-1: not), and NULL otherwise.
CREATE FUNCTION lts.group_ids(p_names text[], p_parts int[]) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
  v_ids int[] := ARRAY(SELECT (SELECT g.group_id FROM lts.node_group g WHERE g.name = p_names[k]) FROM generate_subscripts(p_names, 1) k);
BEGIN
  IF array_position(v_ids, NULL) IS NULL THEN
    RETURN v_ids;
  END IF;
  INSERT INTO lts.node_group (name, part)
  SELECT p_names[k], p_parts[k] FROM generate_subscripts(p_names, 1) k WHERE v_ids[k] IS NULL AND p_parts[k] >= 0 ORDER BY 1
  ON CONFLICT DO NOTHING;
  RETURN ARRAY(SELECT (SELECT g.group_id FROM lts.node_group g WHERE g.name = p_names[k]) FROM generate_subscripts(p_names, 1) k);
END $$;

CREATE FUNCTION lts.client_ids(p_names text[]) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
  v_ids int[] := ARRAY(SELECT (SELECT c.client_id FROM lts.client_group c WHERE c.name = p_names[k]) FROM generate_subscripts(p_names, 1) k);
BEGIN
  IF array_position(v_ids, NULL) IS NULL THEN
    RETURN v_ids;
  END IF;
  INSERT INTO lts.client_group (name)
  SELECT p_names[k] FROM generate_subscripts(p_names, 1) k WHERE v_ids[k] IS NULL ORDER BY 1
  ON CONFLICT DO NOTHING;
  RETURN ARRAY(SELECT (SELECT c.client_id FROM lts.client_group c WHERE c.name = p_names[k]) FROM generate_subscripts(p_names, 1) k);
END $$;

-- Workers by node and incarnation, in pairs. used_at is moved on once a day, so that a purge sees who is still used.
CREATE FUNCTION lts.worker_ids(p_names text[], p_used_at bigint) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
  v_ids int[] := ARRAY(
    SELECT (SELECT w.worker_id FROM lts.worker w WHERE w.node_id = p_names[2 * k - 1] AND w.incarnation = p_names[2 * k] AND w.used_at > p_used_at - 86400000)
    FROM generate_series(1, cardinality(p_names) / 2) k);
BEGIN
  IF array_position(v_ids, NULL) IS NULL THEN
    RETURN v_ids;
  END IF;
  INSERT INTO lts.worker AS w (node_id, incarnation, used_at)
  SELECT p_names[2 * k - 1], p_names[2 * k], p_used_at FROM generate_subscripts(v_ids, 1) k WHERE v_ids[k] IS NULL ORDER BY 1, 2
  ON CONFLICT (node_id, incarnation) DO UPDATE SET used_at = greatest(w.used_at, excluded.used_at);
  RETURN ARRAY(
    SELECT (SELECT w.worker_id FROM lts.worker w WHERE w.node_id = p_names[2 * k - 1] AND w.incarnation = p_names[2 * k])
    FROM generate_subscripts(v_ids, 1) k);
END $$;

-- Ready rows as they enter the ready set of their owner. Jobs up to 4 KiB come with them.
CREATE FUNCTION lts.ready_rows(p_ords int[], p_seqs bigint[]) RETURNS SETOF lts.outcome LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY
  SELECT 6::smallint, p_ords[k], ARRAY[l.seq, l.priority, l.due_at, l.attempts, l.retry_times, l.lost_times], l.id, g.name, i.type, i.policy,
    CASE WHEN octet_length(i.job) <= 4096 THEN i.job END
  FROM generate_subscripts(p_seqs, 1) k,
    LATERAL (SELECT * FROM lts.live WHERE seq = p_seqs[k] OFFSET 0) l,
    LATERAL (SELECT type, policy, job FROM lts.instance WHERE id = l.id OFFSET 0) i,
    LATERAL (SELECT name FROM lts.node_group WHERE group_id = l.group_id OFFSET 0) g
  ORDER BY k;
END $$;

-- The current instances of these tasks have ended at these times: the next ones, where there are some, take their place.
CREATE FUNCTION lts.advance(p_ords int[], p_groups int[], p_tasks text[], p_ats bigint[]) RETURNS SETOF lts.outcome LANGUAGE plpgsql AS $$
DECLARE
  v_ords int[];
  v_seqs bigint[];
  v_states smallint[];
  v_dues bigint[];
BEGIN
  IF NOT EXISTS (SELECT 1 FROM lts.live WHERE state = 0) THEN
    RETURN;
  END IF;
  WITH freed AS (
    SELECT k, n.ctid AS at, n.due_at FROM generate_subscripts(p_ords, 1) k,
      LATERAL (SELECT ctid, due_at FROM lts.live WHERE group_id = p_groups[k] AND task_id = p_tasks[k] AND state = 0 OFFSET 0) n
  ), moved AS (
    UPDATE lts.live l SET state = CASE WHEN f.due_at <= p_ats[f.k] THEN 2 ELSE 1 END FROM freed f WHERE l.ctid = f.at
    RETURNING p_ords[f.k] AS ord, l.seq, l.state, l.due_at
  )
  SELECT array_agg(ord), array_agg(seq), array_agg(state), array_agg(due_at) INTO v_ords, v_seqs, v_states, v_dues FROM moved;
  IF v_ords IS NULL THEN
    RETURN;
  END IF;
  RETURN QUERY SELECT (lts.outcome(7, v_ords[k], ARRAY[v_dues[k]])).* FROM generate_subscripts(v_ords, 1) k WHERE v_states[k] = 1;
  RETURN QUERY SELECT * FROM lts.ready_rows(
    ARRAY(SELECT v_ords[k] FROM generate_subscripts(v_ords, 1) k WHERE v_states[k] = 2),
    ARRAY(SELECT v_seqs[k] FROM generate_subscripts(v_ords, 1) k WHERE v_states[k] = 2));
END $$;

-- Step 3: starts of ready instances, and attempts that go to another worker. p_rows: which rows of p_hands.
CREATE FUNCTION lts.hand_out(p_rows int[], p_hands bigint[], p_workers int[]) RETURNS SETOF lts.outcome LANGUAGE plpgsql AS $$
DECLARE
  v_ords bigint[];
  v_wanting bigint[];
  v_ids uuid[];
BEGIN
  WITH found AS (
    SELECT (k - 1) * 8 AS o, l.ctid AS at, l.state FROM unnest(p_rows) k,
      LATERAL (SELECT ctid, part, state, attempts FROM lts.live WHERE seq = p_hands[(k - 1) * 8 + 3] OFFSET 0) l
    WHERE l.part = p_hands[(k - 1) * 8 + 2]
      AND CASE WHEN p_hands[(k - 1) * 8 + 8] & 2 = 0 THEN l.state = 2 AND l.attempts = p_hands[(k - 1) * 8 + 4] - 1
               ELSE l.state >= 3 AND l.attempts = p_hands[(k - 1) * 8 + 4] END
  ), moved AS (
    UPDATE lts.live l SET attempts = p_hands[o + 4], worker_id = p_workers[p_hands[o + 6]], assigned_at = p_hands[o + 7],
      state = CASE WHEN f.state = 2 THEN 3 ELSE f.state END, fence = CASE WHEN f.state = 2 THEN p_hands[o + 5] ELSE l.fence END
    FROM found f WHERE l.ctid = f.at
    RETURNING p_hands[o + 1] AS ord, p_hands[o + 8] & 1 AS wants, l.id
  )
  SELECT array_agg(ord), array_agg(ord) FILTER (WHERE wants = 1), array_agg(id) FILTER (WHERE wants = 1) INTO v_ords, v_wanting, v_ids FROM moved;
  IF v_ords IS NULL THEN
    RETURN;
  END IF;
  RETURN NEXT lts.outcome(2, 0, v_ords);
  IF v_ids IS NOT NULL THEN
    RETURN QUERY SELECT (lts.outcome(5, v_wanting[k], NULL, job => i.job)).* FROM generate_subscripts(v_ids, 1) k,
      LATERAL (SELECT job FROM lts.instance WHERE id = v_ids[k] OFFSET 0) i;
  END IF;
END $$;

-- Step 5: ends of attempts. p_rows: which rows of p_ends. Owed results are numbered in the order of the batch: from
-- p_owed, two for each transition.
CREATE FUNCTION lts.finish(p_rows int[], p_ends bigint[], p_messages text[], p_owed bigint) RETURNS SETOF lts.outcome LANGUAGE plpgsql AS $$
DECLARE
  v_ords bigint[];
  v_clients bigint[];
  v_groups int[];
  v_tasks text[];
  v_ats bigint[];
BEGIN
  WITH found AS (
    SELECT k, (k - 1) * 12 AS o, l.ctid AS at FROM unnest(p_rows) k,
      LATERAL (SELECT ctid, part, state, attempts FROM lts.live WHERE seq = p_ends[(k - 1) * 12 + 3] OFFSET 0) l
    WHERE p_ends[(k - 1) * 12 + 9] > 0 AND l.state >= 3 AND l.attempts = p_ends[(k - 1) * 12 + 4] AND l.part = p_ends[(k - 1) * 12 + 2]
  ), gone AS (
    DELETE FROM lts.live l USING found f WHERE l.ctid = f.at
    RETURNING f.k, f.o, l.seq, l.id, l.part, l.group_id, l.task_id, l.client_id, l.attempts, l.retry_times, l.lost_times, l.worker_id, l.fence, l.assigned_at
  ), kept AS (
    INSERT INTO lts.ended (seq, ended_at, id, state, outcome, truncated, attempts, retry_times, lost_times, worker_id, fence, assigned_at, started_at, owed, message)
    SELECT seq, p_ends[o + 8], id, p_ends[o + 9], p_ends[o + 5], p_ends[o + 6] = 1, attempts, retry_times,
      lost_times + CASE WHEN p_ends[o + 5] = 6 THEN 1 ELSE 0 END, worker_id, fence, assigned_at, p_ends[o + 7],
      CASE WHEN client_id IS NOT NULL THEN p_owed + 2 * p_ends[o + 1] END, coalesce(p_messages[k], '')
    FROM gone
  ), owed AS (
    INSERT INTO lts.feedback (owed, next_at, id, client_id, part, deliveries, dead, last_error)
    SELECT p_owed + 2 * p_ends[o + 1], 0, id, client_id, part, 0, false, '' FROM gone WHERE client_id IS NOT NULL
  )
  SELECT array_agg(p_ends[o + 1]), array_agg(coalesce(client_id, 0)), array_agg(group_id), array_agg(task_id), array_agg(p_ends[o + 8])
  INTO v_ords, v_clients, v_groups, v_tasks, v_ats FROM gone;
  IF v_ords IS NOT NULL THEN
    RETURN NEXT lts.outcome(3, 0, v_ords || v_clients);
    IF 0 < ANY (v_clients) THEN
      RETURN QUERY SELECT (lts.outcome(4, c.id, NULL, name => g.name)).* FROM (SELECT DISTINCT unnest(v_clients) AS id) c,
        LATERAL (SELECT name FROM lts.client_group WHERE client_id = c.id OFFSET 0) g;
    END IF;
    RETURN QUERY SELECT * FROM lts.advance(v_ords::int[], v_groups, v_tasks, v_ats);
  END IF;
  IF cardinality(p_rows) > coalesce(cardinality(v_ords), 0) THEN
    RETURN QUERY SELECT * FROM lts.go_on(p_rows, p_ends, p_messages);
  END IF;
END $$;

-- Ends of attempts after which the instance goes on: it waits, or is ready at once. What is being cancelled does not.
CREATE FUNCTION lts.go_on(p_rows int[], p_ends bigint[], p_messages text[]) RETURNS SETOF lts.outcome LANGUAGE plpgsql AS $$
DECLARE
  v_ords bigint[];
  v_seqs bigint[];
  v_dues bigint[];
  v_ready boolean[];
BEGIN
  WITH found AS (
    SELECT k, (k - 1) * 12 AS o, l.ctid AS at FROM unnest(p_rows) k,
      LATERAL (SELECT ctid, part, state, attempts FROM lts.live WHERE seq = p_ends[(k - 1) * 12 + 3] OFFSET 0) l
    WHERE p_ends[(k - 1) * 12 + 9] = 0 AND l.state = 3 AND l.attempts = p_ends[(k - 1) * 12 + 4] AND l.part = p_ends[(k - 1) * 12 + 2]
  ), moved AS (
    UPDATE lts.live l SET due_at = p_ends[o + 10], retry_times = p_ends[o + 11], lost_times = p_ends[o + 12],
      state = CASE WHEN p_ends[o + 10] <= p_ends[o + 8] THEN 2 ELSE 1 END
    FROM found f WHERE l.ctid = f.at
    RETURNING f.k, f.o, l.seq, l.id, l.due_at, l.state, l.attempts, l.worker_id, l.fence, l.assigned_at
  ), kept AS (
    INSERT INTO lts.attempt (id, attempt, outcome, truncated, worker_id, fence, assigned_at, started_at, ended_at, message)
    SELECT id, attempts, p_ends[o + 5], p_ends[o + 6] = 1, worker_id, fence, assigned_at, p_ends[o + 7], p_ends[o + 8], coalesce(p_messages[k], '')
    FROM moved
  )
  SELECT array_agg(p_ends[o + 1]), array_agg(seq), array_agg(due_at), array_agg(state = 2) INTO v_ords, v_seqs, v_dues, v_ready FROM moved;
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
CREATE FUNCTION lts.admit_beside(
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
BEGIN
  SELECT seq, answer, related_id, client_id, priority, CASE WHEN job <> substring(p_jobs FROM p_admits[o + 10]::int FOR p_admits[o + 11]::int) THEN job END AS other
  INTO STRICT v_mine FROM lts.instance WHERE id = p_id;
  IF v_mine.seq <> p_seq THEN
    RETURN NEXT lts.outcome(11, v_ord, ARRAY[v_mine.answer], v_mine.related_id, job => v_mine.other);
    RETURN;
  END IF;

  SELECT * INTO v_old FROM lts.live WHERE group_id = p_group AND task_id = p_task AND state = 0;
  IF NOT FOUND THEN
    SELECT * INTO v_old FROM lts.live WHERE group_id = p_group AND task_id = p_task AND state > 0;
  END IF;
  IF v_old.seq IS NULL OR v_old.state >= 3 THEN
    -- The task is free, or its current instance runs and nothing waits behind it yet.
    v_state := CASE WHEN v_old.seq IS NULL THEN v_state ELSE 0 END;
    RETURN NEXT lts.outcome(8, v_ord, ARRAY[p_seq, v_state]);
  ELSIF v_flags & 4 = 0 OR (v_flags & 8 <> 0 AND p_id < v_old.id) THEN
    -- Only an id that the client made can come again: it stays, as an ended row that is no instance.
    IF v_flags & 1 = 0 THEN
      DELETE FROM lts.instance WHERE id = p_id;
    ELSE
      UPDATE lts.instance SET answer = 2, related_id = v_old.id WHERE id = p_id;
      INSERT INTO lts.ended (seq, ended_at, id, state, attempts, retry_times, lost_times, message) VALUES (p_seq, v_created, p_id, 10, 0, 0, 0, '');
    END IF;
    RETURN NEXT lts.outcome(10, v_ord, NULL, v_old.id);
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

-- One round: rows p_admit + 1 to p_admit + p_admit_count of p_admits, and likewise of the others.
CREATE FUNCTION lts.apply_round(
  p_admit int, p_admit_count int, p_hand int, p_hand_count int, p_end int, p_end_count int,
  p_group_ids int[], p_group_parts int[], p_client_ids int[], p_worker_ids int[], p_texts text[],
  p_admits bigint[], p_ids uuid[], p_tasks text[], p_jobs bytea, p_hands bigint[], p_ends bigint[], p_messages text[], p_owed bigint
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
BEGIN
  IF p_admit_count > 0 THEN
    v_seqs := ARRAY(SELECT nextval('lts.seq') FROM generate_series(1, p_admit_count));
    v_first := v_seqs[1];
    -- Another tracker may have drawn numbers in between.
    v_dense := v_seqs[p_admit_count] - v_first = p_admit_count - 1;
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
      ON CONFLICT DO NOTHING
      RETURNING seq
    )
    SELECT array_agg(seq) INTO v_placed FROM placed;
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
    RETURN QUERY SELECT * FROM lts.finish(v_ends, p_ends, p_messages, p_owed);
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
        RETURN QUERY SELECT * FROM lts.finish(ARRAY[v_one.k], p_ends, p_messages, p_owed);
    END CASE;
  END LOOP;
END $$;

-- Arrivals that live of these tasks.
CREATE FUNCTION lts.live_among(p_groups int[], p_tasks text[]) RETURNS bigint[] LANGUAGE plpgsql AS $$
BEGIN
  RETURN ARRAY(
    SELECT l.seq FROM generate_subscripts(p_groups, 1) k, LATERAL (
      SELECT seq FROM lts.live WHERE group_id = p_groups[k] AND task_id = p_tasks[k] AND state > 0
      UNION ALL SELECT seq FROM lts.live WHERE group_id = p_groups[k] AND task_id = p_tasks[k] AND state = 0) l);
END $$;

-- Ends an instance that does not run.
CREATE FUNCTION lts.cancel_waiting(p_live lts.live, p_ord bigint, p_at bigint, p_owed bigint) RETURNS lts.outcome LANGUAGE plpgsql AS $$
DECLARE
  v_owed CONSTANT bigint := CASE WHEN p_live.client_id IS NOT NULL THEN p_owed END;
BEGIN
  DELETE FROM lts.live WHERE seq = p_live.seq;
  INSERT INTO lts.ended (seq, ended_at, id, state, attempts, retry_times, lost_times, owed, message)
  VALUES (p_live.seq, p_at, p_live.id, 7, p_live.attempts, p_live.retry_times, p_live.lost_times, v_owed,
    CASE WHEN p_live.attempts = 0 THEN 'cancelled before it ran' ELSE 'cancelled before its retry' END);
  IF v_owed IS NOT NULL THEN
    INSERT INTO lts.feedback (owed, next_at, id, client_id, part, deliveries, dead, last_error)
    VALUES (v_owed, 0, p_live.id, p_live.client_id, p_live.part, 0, false, '');
  END IF;
  RETURN lts.outcome(12, p_ord, ARRAY[p_live.seq, p_live.state], p_live.id, (SELECT name FROM lts.client_group WHERE client_id = p_live.client_id));
END $$;

-- Cancels one instance (p_id), or the next and the current one of a task.
CREATE FUNCTION lts.cancel(p_ord bigint, p_part int, p_group int, p_id uuid, p_task text, p_at bigint, p_owed bigint)
RETURNS SETOF lts.outcome LANGUAGE plpgsql AS $$
DECLARE
  v_task text := p_task;
  v_live lts.live;
BEGIN
  IF p_id IS NOT NULL THEN
    SELECT i.task_id INTO v_task FROM lts.instance i, lts.node_group g WHERE i.id = p_id AND i.group_id = p_group AND i.answer <> 2 AND g.group_id = p_group AND g.part = p_part;
    IF v_task IS NULL THEN
      RETURN;
    END IF;
  END IF;
  SELECT * INTO v_live FROM lts.live WHERE group_id = p_group AND task_id = v_task AND state = 0 AND part = p_part;
  IF FOUND AND (p_id IS NULL OR p_id = v_live.id) THEN
    RETURN NEXT lts.cancel_waiting(v_live, p_ord, p_at, p_owed);
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
    UPDATE lts.live SET state = 4 WHERE seq = v_live.seq;
    RETURN NEXT lts.outcome(13, p_ord, ARRAY[v_live.seq, v_live.attempts], v_live.id);
  ELSE
    RETURN NEXT lts.cancel_waiting(v_live, p_ord, p_at, p_owed + 1);
    RETURN QUERY SELECT * FROM lts.advance(ARRAY[p_ord::int], ARRAY[p_group], ARRAY[v_task], ARRAY[p_at]);
  END IF;
END $$;

-- Step 2: waiting rows whose time has come become ready.
CREATE FUNCTION lts.promote(p_ord bigint, p_part int, p_now bigint, p_limit int) RETURNS SETOF lts.outcome LANGUAGE plpgsql AS $$
DECLARE
  v_seqs bigint[];
BEGIN
  WITH due AS (
    SELECT ctid AS at FROM lts.live WHERE part = p_part AND state = 1 AND due_at <= p_now ORDER BY due_at, seq LIMIT p_limit
  ), moved AS (
    UPDATE lts.live l SET state = 2 FROM due d WHERE l.ctid = d.at RETURNING l.seq
  )
  SELECT array_agg(seq) INTO v_seqs FROM moved;
  IF v_seqs IS NOT NULL THEN
    RETURN QUERY SELECT * FROM lts.ready_rows(array_fill(p_ord::int, ARRAY[cardinality(v_seqs)]), v_seqs);
  END IF;
  RETURN NEXT lts.outcome(15, p_ord, ARRAY(SELECT due_at FROM lts.live WHERE part = p_part AND state = 1 ORDER BY due_at, seq LIMIT 1));
END $$;

-- A result after the end of its attempt: the first one is kept beside it, unless it says what the attempt ended with.
CREATE FUNCTION lts.late(p_ord bigint, p_part int, p_id uuid, p_attempt int, p_outcome smallint, p_message text)
RETURNS SETOF lts.outcome LANGUAGE plpgsql AS $$
DECLARE
  v_seq bigint;
BEGIN
  SELECT i.seq INTO v_seq FROM lts.instance i, lts.node_group g WHERE i.id = p_id AND g.group_id = i.group_id AND g.part = p_part;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  UPDATE lts.attempt SET late_outcome = p_outcome, late_message = p_message
  WHERE id = p_id AND attempt = p_attempt AND late_outcome IS NULL AND outcome <> p_outcome;
  UPDATE lts.ended SET late_outcome = p_outcome, late_message = p_message
  WHERE id = p_id AND attempts = p_attempt AND late_outcome IS NULL AND outcome <> p_outcome;
  IF EXISTS (SELECT 1 FROM lts.attempt WHERE id = p_id AND attempt = p_attempt)
    OR EXISTS (SELECT 1 FROM lts.ended WHERE id = p_id AND attempts = p_attempt AND outcome IS NOT NULL)
    OR EXISTS (SELECT 1 FROM lts.live l WHERE l.seq = v_seq AND l.attempts = p_attempt AND l.state + 0 >= 3) THEN
    RETURN NEXT lts.outcome(16, p_ord, NULL);
  END IF;
END $$;

-- A transition that runs on its own. p_texts: two for each row.
CREATE FUNCTION lts.apply_alone(p_row int, p_alone bigint[], p_texts text[], p_group_ids int[], p_owed bigint) RETURNS SETOF lts.outcome LANGUAGE plpgsql AS $$
DECLARE
  o CONSTANT int := (p_row - 1) * 6;
  v_ord CONSTANT bigint := p_alone[o + 1];
  v_part CONSTANT int := p_alone[o + 3];
  v_group CONSTANT int := p_group_ids[p_alone[o + 4]];
  v_text CONSTANT text := p_texts[2 * p_row - 1];
BEGIN
  CASE p_alone[o + 2]
    WHEN 1 THEN
      RETURN QUERY SELECT * FROM lts.cancel(v_ord, v_part, v_group, v_text::uuid, NULL, p_alone[o + 5], p_owed + 2 * v_ord);
    WHEN 2 THEN
      RETURN QUERY SELECT * FROM lts.cancel(v_ord, v_part, v_group, NULL, v_text, p_alone[o + 5], p_owed + 2 * v_ord);
    WHEN 3 THEN
      RETURN QUERY SELECT * FROM lts.promote(v_ord, v_part, p_alone[o + 5], p_alone[o + 6]::int);
    WHEN 4 THEN
      RETURN QUERY SELECT * FROM lts.late(v_ord, v_part, v_text::uuid, p_alone[o + 5]::int, p_alone[o + 6]::smallint, p_texts[2 * p_row]);
    ELSE
      UPDATE lts.node_group SET backlog = (v_text::json ->> 'backlog')::bigint, max_running = (v_text::json ->> 'maxRunning')::bigint,
        starts_per_second = (v_text::json ->> 'startsPerSecond')::double precision
      WHERE group_id = v_group;
  END CASE;
END $$;

-- Applies a batch under these epochs, whose partitions are sorted. p_rounds: for each round how many admits, hand-outs
-- and ends it has; three zeros: the next one of p_alone. Raises LT001 when an epoch is not current.
CREATE FUNCTION lts.commit(
  p_parts int[], p_epochs bigint[], p_groups text[], p_group_parts int[], p_clients text[], p_workers text[], p_used_at bigint, p_texts text[], p_rounds int[],
  p_admits bigint[], p_ids uuid[], p_tasks text[], p_jobs bytea, p_hands bigint[], p_ends bigint[], p_messages text[], p_alone bigint[], p_alone_texts text[]
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
        p_admits, p_ids, p_tasks, p_jobs, p_hands, p_ends, p_messages, v_owed);
      v_admit := v_admit + p_rounds[v_at + 1];
      v_hand := v_hand + p_rounds[v_at + 2];
      v_end := v_end + p_rounds[v_at + 3];
    END IF;
    v_at := v_at + 3;
  END LOOP;
  RETURN;
END $$;

-- The fence. The rows stay locked until the commit, so that a take-over orders itself behind it.
CREATE FUNCTION lts.check_epochs(p_parts int[], p_epochs bigint[]) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  v_row record;
  v_at int := 0;
BEGIN
  FOR v_row IN SELECT o.part, o.epoch, o.backend_pid FROM lts.ownership o WHERE o.part = ANY (p_parts) ORDER BY o.part FOR UPDATE LOOP
    EXIT WHEN v_row.part <> p_parts[v_at + 1];
    v_at := v_at + 1;
    IF v_row.epoch <> p_epochs[v_at] THEN
      RAISE EXCEPTION 'partition % has epoch %, the commit came with %; another owner has it', v_row.part, v_row.epoch, p_epochs[v_at] USING ERRCODE = 'LT001';
    END IF;
    IF v_row.backend_pid IS DISTINCT FROM pg_backend_pid() THEN
      PERFORM lts.note_backend(v_row.part);
    END IF;
  END LOOP;
  IF v_at < cardinality(p_parts) THEN
    RAISE EXCEPTION 'partition % has epoch none, the commit came with %; another owner has it', p_parts[v_at + 1], p_epochs[v_at + 1] USING ERRCODE = 'LT001';
  END IF;
  RETURN true;
END $$;

-- Notes on which server process the owner commits: a take-over that it blocks ends it.
CREATE FUNCTION lts.note_backend(p_part int) RETURNS void LANGUAGE sql AS $$
  UPDATE lts.ownership o SET backend_pid = a.pid, backend_start = a.backend_start, backend_name = a.application_name
  FROM pg_stat_get_activity(pg_backend_pid()) a WHERE o.part = p_part
$$;

-- Raises the epochs for this owner, in order. A commit that blocks it for 500 ms is ended with its session: nothing of
-- it is stored then. Only the session that the owner noted is ended, and only if it is one of ours.
CREATE FUNCTION lts.take(p_parts int[], p_node text, p_incarnation text, p_pid int, p_at bigint) RETURNS TABLE (part int, epoch bigint) LANGUAGE plpgsql
SET lock_timeout = '500ms' AS $$
#variable_conflict use_column
DECLARE
  v_part int;
BEGIN
  FOR v_part IN SELECT DISTINCT unnest(p_parts) ORDER BY 1 LOOP
    FOR v_try IN 1 .. 10 LOOP
      BEGIN
        RETURN QUERY UPDATE lts.ownership o SET epoch = o.epoch + 1, node_id = p_node, incarnation = p_incarnation, pid = p_pid, taken_at = p_at
        WHERE o.part = v_part RETURNING o.part, o.epoch;
        IF NOT FOUND THEN
          RAISE EXCEPTION 'the store has no partition %', v_part USING ERRCODE = 'LT002';
        END IF;
        PERFORM lts.note_backend(v_part);
        EXIT;
      EXCEPTION WHEN lock_not_available THEN
        IF v_try = 10 THEN
          RAISE EXCEPTION 'partition % is locked by session %', v_part, (SELECT string_agg(DISTINCT l.pid::text, ', ') FROM pg_locks l
            WHERE l.relation = 'lts.ownership'::regclass AND l.mode <> 'AccessShareLock' AND l.pid <> pg_backend_pid()) USING ERRCODE = '55P03';
        END IF;
        PERFORM lts.end_owner(v_part);
      END;
    END LOOP;
  END LOOP;
END $$;

-- Ends the session on which the owner of a partition commits.
CREATE FUNCTION lts.end_owner(p_part int) RETURNS void LANGUAGE sql AS $$
  SELECT pg_stat_clear_snapshot();
  SELECT pg_terminate_backend(a.pid) FROM lts.ownership o, pg_stat_activity a
  WHERE o.part = p_part AND a.pid = o.backend_pid AND a.backend_start = o.backend_start AND a.application_name = o.backend_name
    AND starts_with(a.application_name, 'lts/') AND a.pid <> pg_backend_pid()
$$;

-- Lets go of partitions under these epochs. The epoch is raised, too: what the former owner still sends is fenced.
CREATE FUNCTION lts.release(p_parts int[], p_epochs bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  FOR v_at IN 1 .. cardinality(p_parts) LOOP
    UPDATE lts.ownership SET epoch = epoch + 1, node_id = NULL, incarnation = NULL, pid = NULL, backend_pid = NULL, backend_start = NULL, backend_name = NULL
    WHERE part = p_parts[v_at] AND epoch = p_epochs[v_at];
  END LOOP;
END $$;
