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
