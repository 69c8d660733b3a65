-- Users, their sessions, failed sign-ins, service tokens, and the server secret that is in use.
-- Ids are kept as the text the API shows, in byte order, which is the order of their creation.

-- An erased user stays as an empty row: events, keys and addresses go on pointing at it.
create table users (
  id text collate "C" primary key,
  email text,
  name text,
  password_hash text,
  -- A user of an identity provider instead of an e-mail and a password.
  issuer text,
  subject text,
  -- The key that this user's personal text is sealed under, itself sealed under the server secret named by the kid.
  data_key bytea,
  data_key_kid text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  erased_at timestamptz,
  constraint users_email_key unique (email),
  constraint users_subject_key unique (issuer, subject),
  constraint users_identified_or_erased check (
    case
      when erased_at is null then
        data_key is not null and data_key_kid is not null
        and ((email is not null and password_hash is not null) or (issuer is not null and subject is not null))
      else
        email is null and name is null and password_hash is null and issuer is null and subject is null
        and data_key is null and data_key_kid is null
    end
  )
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
  constraint sessions_hash_key unique (hash)
);
create index sessions_user_id_idx on sessions (user_id, id);

-- One row for each sign-in with a wrong password.
create table sign_in_failures (
  id bigint generated always as identity primary key,
  -- Keyed hashes: of the e-mail, whether or not it has an account, and of the client's IP address.
  email_hash bytea not null,
  ip_hash bytea not null,
  at timestamptz not null
);
create index sign_in_failures_email_hash_idx on sign_in_failures (email_hash, at);
create index sign_in_failures_ip_hash_idx on sign_in_failures (ip_hash, at);

create table service_tokens (
  id text collate "C" primary key,
  name text not null,
  hash bytea not null,
  created_at timestamptz not null,
  revoked_at timestamptz,
  constraint service_tokens_hash_key unique (hash)
);

-- The server secret that the operator has ordered everything to be moved to. Without this row no key is rehashed on use:
-- a node that has not been restarted yet may still take the previous secret for the current one.
create table server_secret (
  -- There is one row.
  n int primary key default 1 check (n = 1),
  kid text not null,
  since timestamptz not null
);
