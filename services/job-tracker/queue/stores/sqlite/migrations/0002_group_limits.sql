-- Limits of a node group. NULL: none of its own.

ALTER TABLE node_group ADD COLUMN backlog INTEGER;
ALTER TABLE node_group ADD COLUMN max_running INTEGER;
ALTER TABLE node_group ADD COLUMN starts_per_second REAL;
