-- Forgotten passwords, accounts that the operator has switched off, and accounts without an e-mail.

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

-- While it is set, nobody signs in to the account, and its sessions are ended.
alter table users add column disabled_at timestamptz;

-- An account may be without an e-mail: when somebody else has confirmed the one that it had and never confirmed.
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
      and (password_hash is not null or (issuer is not null and subject is not null))
  end
);
