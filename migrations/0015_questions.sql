-- For what people ask: the members with one role, and the use of each secret of a key.

create index members_role_idx on members (store_id, role, user_id);

alter table key_usage
  -- The number of the secret that was used. 0: it was not written down.
  add column secret_no int not null default 0,
  drop constraint key_usage_pkey,
  add primary key (key_id, grain, at, outcome, secret_no);

-- Where each of the two newest secrets of a key was last used from: at most 20 places for each.
create table key_sources (
  key_id text collate "C" not null references api_keys on delete cascade,
  secret_no int not null,
  -- Of whoever presented the key, as the service that verified it told it. Empty: not told.
  ip text collate "C" not null,
  -- The service that verified it. Empty: it was used with this API.
  service_id text collate "C" not null,
  last_used_at timestamptz not null,
  primary key (key_id, secret_no, ip, service_id)
);
create index key_sources_last_used_at_idx on key_sources (last_used_at);

-- The beginning of the previous secret, for display.
alter table api_keys add column previous_start text;
