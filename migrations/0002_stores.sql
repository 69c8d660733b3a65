-- Stores, their members and invitations.

create table stores (
  id text collate "C" primary key,
  name text not null,
  registration text not null default 'CLOSED' check (registration in ('OPEN', 'CLOSED')),
  -- An upper bound of the number of live keys: expired keys are subtracted only when the limit is reached.
  live_keys int not null default 0,
  -- How long a leaked PROD key may still be used. TEST and DEV keys end at once.
  leak_grace_seconds int not null default 0,
  -- While it is set every key of the store answers FROZEN.
  frozen_at timestamptz,
  revision int not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz
);
create index stores_deleted_at_idx on stores (deleted_at) where deleted_at is not null;

create table members (
  store_id text collate "C" not null references stores on delete cascade,
  user_id text collate "C" not null references users on delete cascade,
  role text not null check (role in ('OWNER', 'MANAGER', 'STAFF', 'CUSTOMER')),
  -- Null: the permissions of the role.
  permissions text[],
  revision int not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (store_id, user_id)
);
create index members_user_id_idx on members (user_id, store_id);
create index members_owners_idx on members (store_id) where role = 'OWNER';

create table invitations (
  id text collate "C" primary key,
  store_id text collate "C" not null references stores on delete cascade,
  -- Null once the invited user was erased; an open invitation always has one.
  email text,
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
  constraint invitations_hash_key unique (hash)
);
create index invitations_store_id_idx on invitations (store_id, id);
-- Both for a user's export, across stores.
create index invitations_email_idx on invitations (email, id);
create index invitations_accepted_by_idx on invitations (accepted_by, id) where accepted_by is not null;
