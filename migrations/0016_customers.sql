-- Customers whom a store knows by an id of its own, and for whom it keeps addresses on their behalf.

alter table users
  -- The store that keeps this customer on their behalf: a user without an account, who cannot sign in.
  add column customer_of text collate "C";

alter table users drop constraint users_identified_or_erased;
alter table users add constraint users_identified_or_erased check (
  case
    when erased_at is not null then
      email is null and name is null and password_hash is null and issuer is null and subject is null
      and data_key is null and data_key_kid is null
    when customer_of is not null then
      email is null and name is null and password_hash is null and issuer is null and subject is null
      and data_key is not null and data_key_kid is not null
    else
      data_key is not null and data_key_kid is not null
      and ((email is not null and password_hash is not null) or (issuer is not null and subject is not null))
  end
);

create table customers (
  store_id text collate "C" not null references stores on delete cascade,
  -- The store's own id for them, in NFC.
  external_id text collate "C" not null,
  -- Either a user whom the store keeps on their behalf, or a member with the role CUSTOMER who was linked.
  user_id text collate "C" not null references users on delete cascade,
  -- What the store says of them, their e-mail and their name, sealed under the customer's own key. Null: neither.
  sealed bytea,
  -- A keyed hash of the store and the e-mail, to search by, and the server secret it was made with.
  email_hash bytea,
  email_hash_kid text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (store_id, external_id),
  constraint customers_user_key unique (store_id, user_id),
  check ((email_hash is null) = (email_hash_kid is null))
);
create index customers_email_hash_idx on customers (store_id, email_hash) where email_hash is not null;
-- For a user's export and erasure, across stores.
create index customers_user_id_idx on customers (user_id, store_id);

-- Who made the current version. Null: the user whose address it is.
alter table addresses
  add column changed_by_kind text,
  add column changed_by_id text collate "C";
alter table address_versions
  add column changed_by_kind text,
  add column changed_by_id text collate "C";

create or replace view address_contents as
  select id as address_id, version, store_id, user_id, country, state, postal_code, sealed, created_at,
         updated_at as at, 'infinity'::timestamptz as until, changed_by_kind, changed_by_id
    from addresses
   union all
  select address_id, version, store_id, user_id, country, state, postal_code, sealed, created_at, at, until,
         changed_by_kind, changed_by_id
    from address_versions;

-- When a customer is erased, the answers that show an address of theirs are deleted: they were given to the store, and so
-- are not sealed under the customer's key.
create index idempotent_responses_address_idx on idempotent_responses (resource_id)
  where resource_id ^@ 'addr_';
