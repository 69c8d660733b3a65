-- Customers whom a store knows by an id of its own, and for whom it keeps addresses on their behalf.

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

-- The external ids of users who are no longer linked: they left the store, were removed or got another role. Only an erasure
-- reads them, because keys may still have them as their owner. An id is that of the last user who was linked to it.
create table former_links (
  store_id text collate "C" not null references stores on delete cascade,
  external_id text collate "C" not null,
  user_id text collate "C" not null references users on delete cascade,
  primary key (store_id, external_id)
);
create index former_links_user_id_idx on former_links (user_id);
