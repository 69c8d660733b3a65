-- The rest of an address's life: it changes, it goes, and what it was stays.

-- What an address was, from `at` until it was changed or deleted. The content that counts now stands in `addresses`
-- alone, and comes here when its time is over: creating an address writes nothing here, and there was nothing to copy.
-- It outlives its address and its user, because an invoice may point at it.
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
  -- When the address was made.
  created_at timestamptz not null,
  at timestamptz not null,
  until timestamptz not null,
  primary key (address_id, version)
);
create index address_versions_of_user on address_versions (store_id, user_id, until);

-- Which address was the default, from `since` until it was another, or none.
create table address_defaults (
  id bigint generated always as identity primary key,
  store_id text collate "C" not null references stores on delete cascade,
  user_id text collate "C" not null,
  address_id text collate "C" not null,
  since timestamptz not null,
  until timestamptz not null
);
create index address_defaults_of_user on address_defaults (store_id, user_id, until);

-- When it last became the default. Null: when it was made.
alter table addresses add column default_since timestamptz;

-- Every content that any address ever had. What counts now has no end yet.
create view address_contents as
  select id as address_id, version, store_id, user_id, country, state, postal_code, sealed, created_at,
         updated_at as at, 'infinity'::timestamptz as until
    from addresses
   union all
  select address_id, version, store_id, user_id, country, state, postal_code, sealed, created_at, at, until
    from address_versions;

-- When each address was the default. What is the default now has no end yet.
create view address_default_times as
  select store_id, user_id, id as address_id, coalesce(default_since, created_at) as since,
         'infinity'::timestamptz as until
    from addresses
   where is_default
   union all
  select store_id, user_id, address_id, since, until
    from address_defaults;

-- A version once made never changes.
create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'A row of % never changes', tg_table_name;
end $$;

create trigger address_versions_stay
  before update on address_versions
  for each statement execute function refuse_change();
