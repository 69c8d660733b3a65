-- API keys, their usage and rate limits, and the notification that drops a changed key from every node's cache.

create table api_keys (
  id text collate "C" primary key,
  store_id text collate "C" not null references stores on delete cascade,
  name text not null,
  type text not null check (type in ('PROD', 'TEST', 'DEV')),
  permissions text[] not null,
  -- json, not jsonb: it is returned in the order and spelling in which it was sent.
  metadata json not null,
  enabled boolean not null default true,
  expires_at timestamptz,
  -- The latest notice given of the coming expiry: 30, 7 or 1 days ahead.
  expiry_notice_days int,
  ip_allowlist text[],
  rate_limit int,
  rate_limit_window_seconds int,
  -- The beginning of the secret, for display.
  start text not null,
  -- HMAC-SHA-256 of the full key under a key that is not in this database; the kid names that key.
  hash bytea not null,
  hash_kid text not null,
  -- Counts the secrets a key has had. After a rotation the previous secret works on until previous_expires_at.
  secret_no int not null default 1,
  secret_used_at timestamptz,
  rotated_at timestamptz,
  previous_hash bytea,
  previous_hash_kid text,
  previous_expires_at timestamptz,
  previous_used_at timestamptz,
  last_used_at timestamptz,
  leaked_at timestamptz,
  -- The secret last reported as leaked: a second report of the same secret changes nothing.
  leaked_secret_no int,
  -- A leak report brought expires_at forward; a rotation restores the expiry from before the leak.
  leak_shortened boolean not null default false,
  expires_before_leak timestamptz,
  revoked_at timestamptz,
  revocation_reason text,
  created_by_kind text not null,
  created_by_id text collate "C" not null,
  revision int not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint api_keys_hash_key unique (hash),
  constraint api_keys_previous_complete check (
    (previous_hash is null) = (previous_expires_at is null) and (previous_hash is null) = (previous_hash_kid is null)
  )
);
create index api_keys_store_id_idx on api_keys (store_id, id);
-- For the keys that a member created, when the member leaves a store with very many keys.
create index api_keys_created_by_idx on api_keys (created_by_id, store_id);
create unique index api_keys_previous_hash_idx on api_keys (previous_hash) where previous_hash is not null;
create index api_keys_expires_at_idx on api_keys (expires_at) where expires_at is not null and revoked_at is null;

-- The number of verifications of each key by outcome: by the hour, and later summed up by the day.
create table key_usage (
  key_id text collate "C" not null references api_keys on delete cascade,
  grain text not null check (grain in ('hour', 'day')),
  at timestamptz not null,
  outcome text not null,
  count bigint not null,
  primary key (key_id, grain, at, outcome)
);
create index key_usage_at_idx on key_usage (grain, at);

-- When a permission of a key was last needed by a request.
create table key_permission_use (
  key_id text collate "C" not null references api_keys on delete cascade,
  permission text not null,
  at timestamptz not null,
  primary key (key_id, permission)
);

-- The flushes of usage counts already written: a flush that is sent twice is counted once.
create table usage_flushes (
  id text collate "C" primary key,
  at timestamptz not null
);

-- The current window of each key that has a rate limit. Unlogged: after a crash of the database windows begin anew.
create unlogged table key_rate_windows (
  key_id text collate "C" primary key,
  began_at timestamptz not null,
  seconds int not null,
  used int not null
);

-- Nodes cache keys. A change of a key, or of a store as a whole, is notified to every node in the transaction that makes it.
create function notify_key_changed() returns trigger language plpgsql as $$
begin
  perform pg_notify('storekeeper_keys', old.id);
  return null;
end $$;

create trigger api_keys_notify_changed
  after update of name, permissions, metadata, hash, previous_hash, previous_expires_at, enabled, expires_at,
                  ip_allowlist, rate_limit, rate_limit_window_seconds, revoked_at, leaked_secret_no
     or delete on api_keys
  for each row execute function notify_key_changed();

create trigger stores_notify_changed
  after update of frozen_at, deleted_at or delete on stores
  for each row execute function notify_key_changed();
