-- Large tables leave room for updates in their pages, and are vacuumed by what changed, not by a share of the whole.

-- The last use of a key, and the count of an hour, are updates that touch no index, as long as their page has room for the
-- new version of the row. In a full page the first of them writes an entry in every index of the table. (Measured by npm run
-- bench:hot: the more room, the more of them; most keys are not in use, so they get less.)
alter table api_keys set (
  fillfactor = 90,
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_insert_scale_factor = 0.05,
  autovacuum_analyze_scale_factor = 0.02
);
alter table key_usage set (
  fillfactor = 75,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05,
  autovacuum_analyze_scale_factor = 0.02
);
alter table key_permission_use set (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.02);

-- A few rows, each of which is updated again and again: the number of keys of a store, and the end of its chain.
alter table stores set (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
alter table event_heads set (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
alter table sessions set (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05);

-- Maintenance deletes from these all the time. With the default, a fifth of the table would be dead before a vacuum.
alter table idempotent_responses set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);
alter table webhook_deliveries set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);

-- These only grow. A vacuum marks new pages as visible to all, which spares reads of an index the table, and a late one
-- has all of them to mark.
alter table events set (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
alter table event_seals set (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
alter table addresses set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
alter table address_versions set (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
