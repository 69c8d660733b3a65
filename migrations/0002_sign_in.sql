-- Signing in: the limit on wrong passwords, and the second factor of an account, which is a secret shared with an
-- authenticator app, passkeys, and recovery codes for when both are lost.

-- One row for each sign-in with a wrong password. They are counted by network, and apart for the places that an account has
-- signed in from: nobody locks an account out from elsewhere.
create table sign_in_failures (
  id bigint generated always as identity primary key,
  -- Keyed hashes: of the e-mail, whether or not it has an account, and of the client's network, which is an IPv4 address or
  -- the /64 of an IPv6 address.
  email_hash bytea not null,
  ip_hash bytea not null,
  -- A keyed hash of the /48 of an IPv6 address.
  site_hash bytea,
  -- The account had signed in from this network before.
  known_place boolean not null,
  at timestamptz not null
);
create index sign_in_failures_email_hash_idx on sign_in_failures (email_hash, at);
create index sign_in_failures_ip_hash_idx on sign_in_failures (ip_hash, at);
create index sign_in_failures_site_hash_idx on sign_in_failures (site_hash, at) where site_hash is not null;

-- The places that each account has signed in from.
create table sign_in_places (
  user_id text collate "C" not null references users on delete cascade,
  -- A keyed hash of the client's network: an IPv4 address, or the /64 of an IPv6 address.
  place_hash bytea not null,
  last_at timestamptz not null,
  primary key (user_id, place_hash)
);
create index sign_in_places_last_at_idx on sign_in_places (last_at);

-- Secrets shared with an authenticator app. A user has at most one that counts and one that waits to be confirmed, which
-- then takes its place.
create table totp_secrets (
  user_id text collate "C" not null references users on delete cascade,
  confirmed boolean not null,
  -- Under the user's data key.
  sealed bytea not null,
  -- The time step of the last code that was accepted: that code and older ones are refused.
  last_step bigint not null default 0,
  -- Of one that waits: the session that it was made with, which alone can confirm it.
  session_id text collate "C",
  created_at timestamptz not null,
  primary key (user_id, confirmed)
);

-- HMACs of recovery codes under the user's data key. A code that was used is deleted.
create table recovery_codes (
  user_id text collate "C" not null references users on delete cascade,
  hash bytea not null,
  -- False for those that came with a secret which waits to be confirmed.
  confirmed boolean not null,
  primary key (user_id, hash)
);

create table passkeys (
  id text collate "C" primary key,
  user_id text collate "C" not null references users on delete cascade,
  -- What the authenticator calls it, and its public key in COSE form.
  credential_id bytea not null,
  public_key bytea not null,
  -- How often it says it was used; always 0 for most.
  sign_count bigint not null,
  transports text[] not null,
  backed_up boolean not null,
  -- The name that its user gave it, under the user's data key.
  sealed_name bytea not null,
  created_at timestamptz not null,
  last_used_at timestamptz,
  constraint passkeys_credential_id_key unique (credential_id)
);
create index passkeys_user_id_idx on passkeys (user_id, id);

-- Challenges of sign-ins are not stored. Those that were used are, as hashes, until they expire.
create table spent_challenges (
  hash bytea primary key,
  expires_at timestamptz not null
);
create index spent_challenges_expires_at_idx on spent_challenges (expires_at);
