-- API keys, the owners whom a store's keys are for, and the notification that drops a changed key from every node's cache.

-- The last use of a key is an update that touches no index, as long as its page has room for the new version of the row. In
-- a full page the first of them writes an entry in every index of the table. (Measured by npm run bench:hot: the more room,
-- the more such updates; most keys are not in use, so they get less than others.) A large table is vacuumed by what
-- changed, not by a share of the whole.
create table api_keys (
  id text collate "C" primary key,
  store_id text collate "C" not null references stores on delete cascade,
  name text not null,
  type text not null check (type in ('PROD', 'TEST', 'DEV')),
  -- The id that the store's own system has for the person or the thing that the key is for.
  owner text collate "C",
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
  -- Beside rate_limit: [{name, limit, windowSeconds, shared}].
  rate_limits json not null default '[]',
  -- Whether the key has a row in key_credits.
  has_credits boolean not null default false,
  -- The beginning of the secret, for display.
  start text not null,
  -- HMAC-SHA-256 of the full key under a key that is not in this database; the kid names that key.
  hash bytea not null,
  hash_kid text not null,
  -- Counts the secrets a key has had. After a rotation the previous secret works on until previous_expires_at.
  secret_no int not null default 1,
  secret_used_at timestamptz,
  rotated_at timestamptz,
  -- When the last rotation was over, by the clock of the database. While one is under way: when it is given up for lost.
  rotation_done_at timestamptz,
  previous_start text,
  previous_hash bytea,
  previous_hash_kid text,
  previous_expires_at timestamptz,
  previous_used_at timestamptz,
  -- Made elsewhere, and not rotated since: its secret has a form that is not ours, and its hash is made of the SHA-256 of
  -- the secret, since that may be all that was known of it.
  imported boolean not null default false,
  -- Of a key that was imported: the HMAC of the value it came with. It stays when the key is rotated, so that an import
  -- that is sent again does not bring a replaced value back.
  imported_hash bytea,
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
  -- Of a key that was made with another key: the number of the secret that one was called with.
  created_by_secret_no int,
  revision int not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint api_keys_hash_key unique (hash),
  constraint api_keys_previous_complete check (
    (previous_hash is null) = (previous_expires_at is null) and (previous_hash is null) = (previous_hash_kid is null)
  )
) with (
  fillfactor = 90,
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_insert_scale_factor = 0.05,
  autovacuum_analyze_scale_factor = 0.02
);
create index api_keys_store_id_idx on api_keys (store_id, id);
create unique index api_keys_previous_hash_idx on api_keys (previous_hash) where previous_hash is not null;
create index api_keys_expires_at_idx on api_keys (expires_at) where expires_at is not null and revoked_at is null;
create index api_keys_owner_idx on api_keys (store_id, owner, id) where owner is not null;
create unique index api_keys_imported_hash_idx on api_keys (imported_hash) where imported_hash is not null;
-- The imported values that are still secrets of their keys. While there are none, a token of another form than ours is
-- not looked up.
create index api_keys_imported_secret_idx on api_keys (id)
  where imported_hash = hash or imported_hash = previous_hash;
-- For what a member or a key has made, in a store that has very many keys. The last column tells until when a key works.
create index api_keys_made_idx on api_keys
  (created_by_id, store_id, created_by_secret_no,
   (case when revoked_at is null then coalesce(expires_at, 'infinity'::timestamptz) else '-infinity'::timestamptz end));
-- Who is looked for is mostly somebody who made little. Where one person has made all the keys there are, the planner would
-- expect as many of whomever is looked for, and read all of them each time: tell it that there are many makers.
alter table api_keys alter column created_by_id set (n_distinct = -0.1);
-- The keys of a store that work, among any number that do not any more: to count them, and to list them.
-- By the end of the store's id, so that only statements that name it use this index. Without statistics any index of a store
-- seems to hold a few rows, and statements that have a better one would read it from end to end.
create index api_keys_live_idx on api_keys
  (right(store_id, 12),
   (case when revoked_at is null then coalesce(expires_at, 'infinity'::timestamptz) else '-infinity'::timestamptz end));

-- Nodes cache keys, and back ends that verify keys by themselves follow their changes. A change of a key, or of a store as a
-- whole, is notified in the transaction that makes it. A back end hears only of the stores of its service token, so the
-- notification of a changed key also names its store.
create function notify_key_changed() returns trigger language plpgsql as $$
begin
  if tg_table_name = 'api_keys' then
    perform pg_notify('storekeeper_changes', old.id || ' ' || old.store_id);
  else
    perform pg_notify('storekeeper_changes', old.id);
  end if;
  return null;
end $$;

create trigger api_keys_notify_changed
  after update of name, permissions, metadata, hash, previous_hash, previous_expires_at, enabled, expires_at,
                  ip_allowlist, rate_limit, rate_limit_window_seconds, revoked_at, leaked_secret_no, owner, rate_limits,
                  has_credits
     or delete on api_keys
  for each row execute function notify_key_changed();

create trigger stores_notify_changed
  after update of frozen_at, deleted_at or delete on stores
  for each row execute function notify_key_changed();

-- The external ids of a user who was erased, that keys still have as their owner. Each store gives these keys a pseudonym by
-- itself, as soon as the user is erased (src/identity/erase-owners.ts), and deletes the row.
create table owners_to_erase (
  store_id text collate "C" not null references stores on delete cascade,
  owner text collate "C" not null,
  -- Who erased them, for the events.
  actor json not null,
  primary key (store_id, owner)
);

-- Owners whose external id was erased while more ended keys bear it than one transaction changes. The service works them
-- off (src/keys/erased-owners.ts); until then it shows these keys with the pseudonym. A row is deleted with the last of its
-- keys.
create table erased_owners (
  store_id text collate "C" not null references stores on delete cascade,
  owner text collate "C" not null,
  pseudonym text collate "C" not null,
  -- Who erased them, for the events.
  actor json not null,
  -- Keys that had not ended then are not meant: an owner who bears the same external id since is somebody else.
  erased_at timestamptz not null,
  -- The keys up to this id have the pseudonym.
  done_to text collate "C" not null,
  -- Owners take turns: the one that was worked on longest ago is next.
  worked_at timestamptz not null,
  primary key (store_id, owner)
);
