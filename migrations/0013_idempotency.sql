-- Retries: the responses to requests with an Idempotency-Key, and changes of many keys that are under way.

-- Neither the Idempotency-Key nor the caller's credential is kept, and the response is sealed under both. Destroying the
-- secret of a response must not touch its indexes, one of which is in random order: no index names what is destroyed, and a
-- page has room for the rows without their secrets. Maintenance deletes from this table all the time: with the default, a
-- fifth of it would be dead before a vacuum.
create table idempotent_responses (
  lookup bytea primary key,
  fingerprint bytea not null,
  -- The response holds a secret, and may be replayed a few times within the hour only.
  reveals_secret boolean not null,
  status int not null,
  -- The resource that the request created, named when its secret can no longer be replayed.
  resource_id text collate "C",
  kid text not null,
  -- Without its salt a sealed response can be opened by nobody.
  salt bytea,
  sealed bytea,
  replays int not null default 0,
  created_at timestamptz not null
) with (
  fillfactor = 80,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05
);
-- For maintenance: the oldest rows first, in bounded batches.
create index idempotent_responses_age_idx on idempotent_responses (created_at);
create index idempotent_responses_resource_idx on idempotent_responses (resource_id) where reveals_secret;
-- When a customer is erased, the answers that show an address of theirs are deleted: they were given to the store, and so
-- are not sealed under the customer's key.
create index idempotent_responses_address_idx on idempotent_responses (resource_id)
  where resource_id ^@ 'addr_';
-- When a customer is erased who is the owner of keys, the stored responses about these keys become unreadable: they name the
-- owner. Those that reveal a secret are found by idempotent_responses_resource_idx, the others by this index.
create index idempotent_responses_key_idx on idempotent_responses (resource_id)
  where resource_id ^@ 'key_' and not reveals_secret;

-- Changes of many keys that are under way. Each is made in several transactions; a retry with the same Idempotency-Key goes
-- on where the last of them ended. The row goes with the last transaction, which stores the response.
create table bulk_changes (
  -- As in idempotent_responses.
  lookup bytea primary key,
  store_id text collate "C" not null references stores on delete cascade,
  -- The SHA-256 of what was asked for: another request must not go on with it.
  request bytea not null,
  -- The ids of the keys, in the order in which they are changed.
  key_ids text[] not null,
  -- Of the first of these keys: [{id, status, error?}].
  results json not null,
  more boolean not null,
  created_at timestamptz not null
);
create index bulk_changes_created_idx on bulk_changes (created_at);
create index bulk_changes_store_idx on bulk_changes (store_id);
