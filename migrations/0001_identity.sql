-- Who calls without an API key: users, with their sessions and one-time tokens, and service tokens.
-- Ids are kept as the text the API shows, in byte order, which is the order of their creation.

-- An erased user stays as an empty row: events, keys and addresses go on pointing at it.
create table users (
  id text collate "C" primary key,
  -- An account may be without one: when another person has confirmed the e-mail before the account did, or when the identity
  -- provider names none.
  email text,
  email_verified_at timestamptz,
  -- Whether the user was signed in when the e-mail was confirmed, or has set the password by a link that was mailed there:
  -- then the mailbox and the account are one person's. A link alone proves only the mailbox.
  email_proven boolean not null default false,
  -- Since when the account, which was unlinked from the identity provider, has to confirm its e-mail again. It is not the
  -- first time then, so a link for a new password leaves the second factor as it is.
  confirm_again_since timestamptz,
  -- The kinds of mail that the user has switched off.
  mail_off text[] not null default '{}',
  name text,
  password_hash text,
  -- A user of an identity provider instead of an e-mail and a password.
  issuer text,
  subject text,
  -- The store that keeps this customer on their behalf: a user without an account, who cannot sign in.
  customer_of text collate "C",
  -- The key that this user's personal text is sealed under, itself sealed under the server secret named by the kid.
  data_key bytea,
  data_key_kid text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- While it is set, nobody signs in to the account, and its sessions are ended.
  disabled_at timestamptz,
  erased_at timestamptz,
  constraint users_email_key unique (email),
  constraint users_subject_key unique (issuer, subject),
  constraint users_identified_or_erased check (
    case
      when erased_at is not null then
        email is null and name is null and password_hash is null and issuer is null and subject is null
        and data_key is null and data_key_kid is null
      when customer_of is not null then
        email is null and name is null and password_hash is null and issuer is null and subject is null
        and data_key is not null and data_key_kid is not null
      else
        data_key is not null and data_key_kid is not null
        and (password_hash is not null or (issuer is not null and subject is not null))
    end
  )
);

-- An e-mail that is confirmed, or replaced by another one, need not be confirmed again. A trigger, so that no statement
-- that writes the e-mail can forget it.
create function end_confirm_again() returns trigger
language plpgsql as $$
begin
  new.confirm_again_since := null;
  return new;
end
$$;

create trigger users_end_confirm_again
  before update of email, email_verified_at on users
  for each row
  when (old.confirm_again_since is not null
        and (new.email is distinct from old.email or new.email_verified_at is not null))
  execute function end_confirm_again();

create table sessions (
  id text collate "C" primary key,
  user_id text collate "C" not null references users on delete cascade,
  hash bytea not null,
  -- How the person signed in.
  method text not null default 'password',
  -- Of a session opened by oidc: when the person signed in at the provider, which may be long before; null where the
  -- provider does not say. Null for every other method: its moment is created_at.
  authenticated_at timestamptz,
  -- The e-mail that the identity provider claimed when the session began, empty if it said that it is not verified: the
  -- only one whose invitations a user of the provider may accept. Null where it claimed none, and for sessions that did
  -- not begin there.
  claimed_email text,
  user_agent text,
  ip text,
  created_at timestamptz not null,
  last_used_at timestamptz not null,
  -- The absolute end. The idle end is counted from last_used_at.
  expires_at timestamptz not null,
  constraint sessions_hash_key unique (hash)
) with (
  fillfactor = 90,
  autovacuum_vacuum_scale_factor = 0.05
);
create index sessions_user_id_idx on sessions (user_id, id);

-- One-time tokens that reach a person outside the service. A user has at most one of each purpose: a newer one ends the
-- older.
create table user_tokens (
  user_id text collate "C" not null references users on delete cascade,
  purpose text not null check (purpose in ('reset', 'confirm')),
  hash bytea not null,
  -- The address it was mailed to. Null: the operator's command has printed it.
  email text,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (user_id, purpose),
  constraint user_tokens_hash_key unique (hash)
);
create index user_tokens_expires_at_idx on user_tokens (expires_at);

create table service_tokens (
  id text collate "C" primary key,
  name text not null,
  hash bytea not null,
  -- The stores whose keys the token asks about. Null: all stores.
  store_ids text[] collate "C",
  -- The owner who issued it for their store. Null: the operator, by a command.
  created_by text collate "C",
  created_at timestamptz not null,
  revoked_at timestamptz,
  constraint service_tokens_hash_key unique (hash)
);
-- For the list of the tokens that owners have issued for a store.
create index service_tokens_store_ids_idx on service_tokens (store_ids, id) where created_by is not null;

-- A service token that is revoked, or bound to other stores, ends the streams that were opened with it.
create function notify_service_token_changed() returns trigger language plpgsql as $$
begin
  perform pg_notify('storekeeper_changes', old.id);
  return null;
end $$;

create trigger service_tokens_notify_changed
  after update of revoked_at, store_ids, hash or delete on service_tokens
  for each row execute function notify_service_token_changed();
