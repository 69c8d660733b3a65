-- The foundation: who there is, whose store it is, keys, addresses, what happened, and what was answered.
-- Ids are kept as the text the API shows, in byte order, which is the order of their making.

create table users (
  id text collate "C" primary key,
  email text,
  name text,
  password_hash text,
  -- A user of an identity provider instead of an e-mail and a password.
  issuer text,
  subject text,
  -- The key that this user's personal text is sealed under, itself sealed under the server secret named by the kid.
  data_key bytea not null,
  data_key_kid text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint users_email unique (email),
  constraint users_subject unique (issuer, subject),
  constraint users_known_by_something check ((email is not null and password_hash is not null) or (issuer is not null and subject is not null))
);

create table sessions (
  id text collate "C" primary key,
  user_id text collate "C" not null references users on delete cascade,
  hash bytea not null,
  user_agent text,
  ip text,
  created_at timestamptz not null,
  last_used_at timestamptz not null,
  -- The absolute end. The idle end is counted from last_used_at.
  expires_at timestamptz not null,
  constraint sessions_hash unique (hash)
);
create index sessions_of_user on sessions (user_id, id);

create table service_tokens (
  id text collate "C" primary key,
  name text not null,
  hash bytea not null,
  created_at timestamptz not null,
  revoked_at timestamptz,
  constraint service_tokens_hash unique (hash)
);

-- One row for each try whose password was wrong.
create table sign_in_failures (
  id bigint generated always as identity primary key,
  -- Keyed hashes: of the e-mail, whether or not it has an account, and of the address the try came from.
  account bytea not null,
  address bytea not null,
  at timestamptz not null
);
create index sign_in_failures_of_account on sign_in_failures (account, at);
create index sign_in_failures_of_address on sign_in_failures (address, at);

create table stores (
  id text collate "C" primary key,
  name text not null,
  registration text not null default 'CLOSED' check (registration in ('OPEN', 'CLOSED')),
  -- At least the number of live keys: expired ones leave the count when it is taken anew at the limit.
  live_keys int not null default 0,
  revision int not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz
);
create index stores_deleted on stores (deleted_at) where deleted_at is not null;

create table members (
  store_id text collate "C" not null references stores on delete cascade,
  user_id text collate "C" not null references users on delete cascade,
  role text not null check (role in ('OWNER', 'MANAGER', 'STAFF', 'CUSTOMER')),
  -- Null: what the role brings.
  permissions text[],
  revision int not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (store_id, user_id)
);
create index members_of_user on members (user_id, store_id);
create index owners_of_store on members (store_id) where role = 'OWNER';

create table invitations (
  id text collate "C" primary key,
  store_id text collate "C" not null references stores on delete cascade,
  email text not null,
  role text not null check (role in ('OWNER', 'MANAGER', 'STAFF', 'CUSTOMER')),
  permissions text[],
  hash bytea not null,
  created_by_kind text not null,
  created_by_id text collate "C" not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  accepted_at timestamptz,
  accepted_by text collate "C",
  withdrawn_at timestamptz,
  constraint invitations_hash unique (hash)
);
create index invitations_of_store on invitations (store_id, id);

create table api_keys (
  id text collate "C" primary key,
  store_id text collate "C" not null references stores on delete cascade,
  name text not null,
  type text not null check (type in ('PROD', 'TEST', 'DEV')),
  permissions text[] not null,
  -- json, not jsonb: it is given back in the order and spelling it came in.
  metadata json not null,
  start text not null,
  -- HMAC-SHA-256 of the full key under a key that is not in this database; the kid names that key.
  hash bytea not null,
  hash_kid text not null,
  enabled boolean not null default true,
  expires_at timestamptz,
  ip_allowlist text[],
  rate_limit int,
  rate_limit_window_seconds int,
  created_by_kind text not null,
  created_by_id text collate "C" not null,
  last_used_at timestamptz,
  revoked_at timestamptz,
  revocation_reason text,
  revision int not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint api_keys_hash unique (hash)
);
create index api_keys_of_store on api_keys (store_id, id);

-- They stay when their user leaves the store: an invoice may point at one.
create table addresses (
  id text collate "C" primary key,
  store_id text collate "C" not null references stores on delete cascade,
  user_id text collate "C" not null references users on delete cascade,
  is_default boolean not null,
  -- Readable, for tax. Everything else of an address is sealed under the user's own key.
  country text not null,
  state text,
  postal_code text,
  sealed bytea not null,
  version int not null default 1,
  revision int not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index addresses_of_user on addresses (store_id, user_id, id);
create unique index addresses_one_default on addresses (store_id, user_id) where is_default;

-- What happened. Written in the transaction of the change itself; outlives what it speaks of.
create table events (
  id text collate "C" primary key,
  store_id text collate "C",
  type text not null,
  at timestamptz not null,
  actor json not null,
  subject text collate "C" not null,
  data json not null
);
create index events_of_store on events (store_id, id);

-- What was answered to a request with an Idempotency-Key. Neither that key nor the caller's credential is here, and
-- the answer is sealed under both of them.
create table remembered_answers (
  lookup bytea primary key,
  fingerprint bytea not null,
  -- Once-only: the answer holds a secret, and may be opened a few times within the hour only.
  once_only boolean not null,
  status int not null,
  -- What the request made; told when its secret can no longer be.
  resource_id text collate "C",
  kid text not null,
  -- Without its salt a sealed answer can be opened by nobody.
  salt bytea,
  sealed bytea,
  openings int not null default 0,
  created_at timestamptz not null
);
-- Rows come in the order of time, so a few bytes for each range of pages are enough to find the old ones.
create index remembered_answers_by_age on remembered_answers using brin (created_at);
create index remembered_secrets on remembered_answers (resource_id) where once_only and salt is not null;
