-- Versions of addresses that a store keeps readable for a while, whatever becomes of their user and of the store itself.

-- A copy, so that it outlives both: nothing here refers to another table.
create table address_holds (
  -- The address and the version, as <address>/<version>.
  id text collate "C" primary key,
  address_id text collate "C" not null,
  version int not null,
  store_id text collate "C" not null,
  user_id text collate "C" not null,
  country text not null,
  state text,
  postal_code text,
  created_at timestamptz not null,
  at timestamptz not null,
  changed_by_kind text,
  changed_by_id text collate "C",
  -- The text of the version under a key of its own, and that key under the server secret named by the kid.
  sealed bytea not null,
  data_key bytea not null,
  data_key_kid text not null,
  reason text not null,
  until timestamptz not null,
  held_by_kind text not null check (held_by_kind in ('user', 'key')),
  held_by_id text collate "C" not null,
  held_at timestamptz not null,
  constraint address_holds_version_key unique (address_id, version)
);
create index address_holds_store_idx on address_holds (store_id, id);
-- For the user's export and erasure.
create index address_holds_user_id_idx on address_holds (user_id, id);
-- For the chore that ends them.
create index address_holds_until_idx on address_holds (until);
