-- Billing addresses, every version they had, when each was its user's default, and the versions that a store keeps on hold.

-- Addresses stay when their user leaves the store: an invoice may point at one.
create table addresses (
  id text collate "C" primary key,
  store_id text collate "C" not null references stores on delete cascade,
  user_id text collate "C" not null references users on delete cascade,
  is_default boolean not null,
  -- When it last became the default. Null: when it was created.
  default_since timestamptz,
  -- Readable, for tax. Everything else of an address is sealed under the user's own key.
  country text not null,
  state text,
  postal_code text,
  sealed bytea not null,
  version int not null default 1,
  -- Who made the current version. Null: the user whose address it is.
  changed_by_kind text,
  changed_by_id text collate "C",
  revision int not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null
) with (
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_analyze_scale_factor = 0.02
);
create index addresses_store_user_idx on addresses (store_id, user_id, id);
-- For a user's export, across stores, as are the other two on user_id.
create index addresses_user_id_idx on addresses (user_id, id);
create unique index addresses_one_default on addresses (store_id, user_id) where is_default;

-- The former versions of addresses, each from `at` until the address was changed or deleted. The current version is in
-- `addresses` alone, so that creating an address writes nothing here. A version outlives its address and its user,
-- because an invoice may point at it.
create table address_versions (
  address_id text collate "C" not null,
  version int not null,
  store_id text collate "C" not null references stores on delete cascade,
  user_id text collate "C" not null,
  country text not null,
  state text,
  postal_code text,
  -- As it was in `addresses`: bound to the ids of address and user and to the version.
  sealed bytea not null,
  -- Who made this version. Null: the user whose address it is.
  changed_by_kind text,
  changed_by_id text collate "C",
  -- When the address was created.
  created_at timestamptz not null,
  at timestamptz not null,
  until timestamptz not null,
  primary key (address_id, version)
) with (
  autovacuum_vacuum_insert_scale_factor = 0.02,
  autovacuum_analyze_scale_factor = 0.02
);
create index address_versions_store_user_idx on address_versions (store_id, user_id, until);
create index address_versions_user_id_idx on address_versions (user_id, address_id, version);

-- For the tables whose rows are written once.
create function reject_change() returns trigger language plpgsql as $$
begin
  raise exception 'A row of % never changes', tg_table_name;
end $$;

create trigger address_versions_immutable
  before update on address_versions
  for each statement execute function reject_change();

-- The periods in which an address was the default, once they are over.
create table address_defaults (
  id bigint generated always as identity primary key,
  store_id text collate "C" not null references stores on delete cascade,
  user_id text collate "C" not null,
  address_id text collate "C" not null,
  since timestamptz not null,
  until timestamptz not null
);
create index address_defaults_store_user_idx on address_defaults (store_id, user_id, until);
create index address_defaults_user_id_idx on address_defaults (user_id, id);

-- All versions of all addresses. The current one has no end yet.
create view address_contents as
  select id as address_id, version, store_id, user_id, country, state, postal_code, sealed, created_at,
         updated_at as at, 'infinity'::timestamptz as until, changed_by_kind, changed_by_id
    from addresses
   union all
  select address_id, version, store_id, user_id, country, state, postal_code, sealed, created_at, at, until,
         changed_by_kind, changed_by_id
    from address_versions;

-- All periods in which an address was the default. The current one has no end yet.
create view address_default_times as
  select store_id, user_id, id as address_id, coalesce(default_since, created_at) as since,
         'infinity'::timestamptz as until
    from addresses
   where is_default
   union all
  select store_id, user_id, address_id, since, until
    from address_defaults;

-- Versions of addresses that a store keeps readable for a while, whatever becomes of their user and of the store itself. A
-- copy, so that it outlives both: nothing here refers to another table.
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
