-- Failed sign-ins are counted by network, and apart for the places that an account has signed in from: nobody locks an
-- account out from elsewhere.

create table sign_in_places (
  user_id text collate "C" not null references users on delete cascade,
  -- A keyed hash of the client's network: an IPv4 address, or the /64 of an IPv6 address.
  place_hash bytea not null,
  last_at timestamptz not null,
  primary key (user_id, place_hash)
);
create index sign_in_places_last_at_idx on sign_in_places (last_at);

alter table sign_in_failures
  -- Of the /48 of an IPv6 address.
  add column site_hash bytea,
  -- The account had signed in from this network before.
  add column known_place boolean not null default false;
create index sign_in_failures_site_hash_idx on sign_in_failures (site_hash, at) where site_hash is not null;

-- Whether a store may have one more open invitation is asked of those that have not expired.
create index invitations_expires_at_idx on invitations (store_id, expires_at);
