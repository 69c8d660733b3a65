-- How keys were used: how often, with which permissions, from where; and what keeps a report of use from counting twice.

-- The number of verifications of each key by outcome: by the hour, and later summed up by the day. The count of an hour is
-- an update that touches no index, as long as its page has room.
create table key_usage (
  key_id text collate "C" not null references api_keys on delete cascade,
  grain text not null check (grain in ('hour', 'day')),
  at timestamptz not null,
  outcome text not null,
  -- The number of the secret that was used. 0: of none in particular, as for all secrets but the two newest.
  secret_no int not null default 0,
  count bigint not null
) with (
  fillfactor = 75,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05,
  autovacuum_analyze_scale_factor = 0.02
);
create index key_usage_at_idx on key_usage (grain, at);
-- After the other index: where two seem to cost the same, as without statistics, the planner takes the one that was made
-- last, and to find the use of a key by the other one would read that of all keys.
alter table key_usage add primary key (key_id, grain, at, outcome, secret_no);

-- When a permission of a key was last needed by a request.
create table key_permission_use (
  key_id text collate "C" not null references api_keys on delete cascade,
  permission text not null,
  at timestamptz not null,
  primary key (key_id, permission)
) with (
  fillfactor = 75,
  autovacuum_vacuum_scale_factor = 0.02
);

-- Where each of the two newest secrets of a key was last used from: at most 20 places for each.
create table key_sources (
  key_id text collate "C" not null references api_keys on delete cascade,
  secret_no int not null,
  -- Of the client that presented the key, as the service that verified it told it. Empty: not told.
  ip text collate "C" not null,
  -- The service that verified it. Empty: it was used with this API.
  service_id text collate "C" not null,
  last_used_at timestamptz not null,
  primary key (key_id, secret_no, ip, service_id)
);
create index key_sources_last_used_at_idx on key_sources (last_used_at);

-- The flushes of usage counts already written: a flush that is sent twice is counted once.
create table usage_flushes (
  id text collate "C" primary key,
  at timestamptz not null
);

-- The last report of use that was written of each process of a back end: a report that is sent again counts once.
create table usage_reporters (
  service_id text collate "C" not null,
  id text collate "C" not null,
  seq bigint not null,
  at timestamptz not null,
  primary key (service_id, id)
);
create index usage_reporters_at_idx on usage_reporters (at);
