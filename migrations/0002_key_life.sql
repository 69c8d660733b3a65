-- The rest of a key's life: its secrets change, it is watched, it leaks, it nears its end.

alter table api_keys
  -- Counts the secrets a key has had. The one before works on until its end, when it was given one.
  add column secret_no int not null default 1,
  add column secret_used_at timestamptz,
  add column rotated_at timestamptz,
  add column previous_hash bytea,
  add column previous_hash_kid text,
  add column previous_expires_at timestamptz,
  add column previous_used_at timestamptz,
  add column leaked_at timestamptz,
  -- The nearest end that was told of already: 30, 7 or 1 days ahead.
  add column expiring_told int,
  add constraint api_keys_previous_whole check (
    (previous_hash is null) = (previous_expires_at is null) and (previous_hash is null) = (previous_hash_kid is null)
  );

create unique index api_keys_previous_hash on api_keys (previous_hash) where previous_hash is not null;
create index api_keys_expiring on api_keys (expires_at) where expires_at is not null and revoked_at is null;

alter table stores
  -- While it is set every key of the store answers FROZEN.
  add column frozen_at timestamptz,
  -- How long a PROD key that leaked may still be used. TEST and DEV keys end at once.
  add column leak_grace_seconds int not null default 0;

-- How often each key was asked for, and what the answer was: by the hour, and by the day once that is long ago.
create table key_usage (
  key_id text collate "C" not null references api_keys on delete cascade,
  grain text not null check (grain in ('hour', 'day')),
  at timestamptz not null,
  outcome text not null,
  count bigint not null,
  primary key (key_id, grain, at, outcome)
);
create index key_usage_by_age on key_usage (grain, at);

-- When a permission of a key was last really needed.
create table key_exercise (
  key_id text collate "C" not null references api_keys on delete cascade,
  permission text not null,
  at timestamptz not null,
  primary key (key_id, permission)
);

-- Each flush of counts is written once, however often it is sent.
create table usage_flushes (
  id text collate "C" primary key,
  at timestamptz not null
);

-- The running window of each key that has a rate limit. Unlogged: after a crash of the database windows begin anew.
create unlogged table key_windows (
  key_id text collate "C" primary key,
  began_at timestamptz not null,
  seconds int not null,
  used int not null
);

-- Whoever changes what a key may do says so to every node, as part of the change itself: the nodes keep keys in memory.
create function tell_key() returns trigger language plpgsql as $$
begin
  perform pg_notify('storekeeper_keys', old.id);
  return null;
end $$;

create trigger api_keys_tell
  after update of name, permissions, metadata, hash, previous_hash, previous_expires_at, enabled, expires_at,
                  ip_allowlist, rate_limit, rate_limit_window_seconds, revoked_at
     or delete on api_keys
  for each row execute function tell_key();

create trigger stores_tell
  after update of frozen_at, deleted_at or delete on stores
  for each row execute function tell_key();
