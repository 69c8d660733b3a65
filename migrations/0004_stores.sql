-- Stores, their members, former members and invitations.

-- A few rows, each of which is updated again and again, as the number of its keys changes: the pages have room for that.
create table stores (
  id text collate "C" primary key,
  name text not null,
  registration text not null default 'CLOSED' check (registration in ('OPEN', 'CLOSED')),
  -- How long a leaked PROD key may still be used. TEST and DEV keys end at once.
  leak_grace_seconds int not null default 0,
  -- The user whom it counts for: who created it, or has taken it on since (account_of).
  account_id text collate "C" not null,
  -- An upper bound of the number of live keys: expired keys are subtracted only when the limit is reached.
  live_keys int not null default 0,
  -- How many customers the store has, for its quota. Null: they were not counted yet. Customers who are erased or unlinked
  -- stay in the count, which is made anew when it reaches the quota.
  customer_count integer,
  -- Each of the following counts has a limit for a day, and begins anew with the first change after midnight (UTC); beside
  -- it is the midnight before the newest change.
  --
  -- Keys that were made. Revoked and expired keys stay, so a loop that makes and revokes keys would fill the database
  -- (src/keys/insert.ts).
  keys_made int not null default 0,
  keys_made_since timestamptz,
  -- Rotations of keys. Who took each secret is kept for good, and is followed when a member goes, so a loop of rotations has
  -- to stop somewhere (src/keys/rotate.ts).
  rotations int not null default 0,
  rotations_since timestamptz,
  -- Keys that bulk changes have named, revocations aside. Each change is an event, and events are kept, so a loop that
  -- changes a thousand keys back and forth would fill the database (src/keys/bulk.ts).
  key_changes int not null default 0,
  key_changes_since timestamptz,
  -- Customers that imports have changed: each change is an event, too (src/customers/import.ts).
  customer_changes int not null default 0,
  customer_changes_since timestamptz,
  revision int not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- While it is set every key of the store answers FROZEN.
  frozen_at timestamptz,
  deleted_at timestamptz
) with (
  fillfactor = 50,
  autovacuum_vacuum_scale_factor = 0.05
);
create index stores_deleted_at_idx on stores (deleted_at) where deleted_at is not null;
create index stores_account_id_idx on stores (account_id);

create table members (
  store_id text collate "C" not null references stores on delete cascade,
  user_id text collate "C" not null references users on delete cascade,
  role text not null check (role in ('OWNER', 'MANAGER', 'STAFF', 'CUSTOMER')),
  -- Null: the permissions of the role.
  permissions text[],
  -- When somebody else last took rights from the member, and kept or ended what they had made. A member who leaves decides
  -- over what they made since, and accepts no invitation from before. Null: it never happened, and everything since
  -- created_at is theirs.
  demoted_at timestamptz,
  revision int not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (store_id, user_id)
);
create index members_user_id_idx on members (user_id, store_id);
create index members_role_idx on members (store_id, role, user_id);

-- The account that a store counts for, where accounts take turns or share what a node has: the user it counts for, as long as
-- they are one of its owners. A store that they have handed over counts with others that they have handed over to the same
-- owner, until one of its owners takes it on (src/auth/account.ts), so nobody answers with what is theirs for what others do.
create function account_of(store text) returns text language sql stable as $$
  select coalesce((
    select case
             when exists (select from members where store_id = stores.id and user_id = account_id and role = 'OWNER')
             then account_id
             else 'handed over by ' || account_id || ' to ' || coalesce((
               select user_id
                 from members
                where store_id = stores.id
                  and role = 'OWNER'
                order by created_at, user_id
                limit 1
             ), 'nobody')
           end
      from stores
     where id = store
  ), '-')
$$;

-- Members who left, were removed or were erased, as they were then. One who came back since has a row in members too.
create table former_members (
  store_id text collate "C" not null references stores on delete cascade,
  user_id text collate "C" not null references users on delete cascade,
  -- The store's name when the membership ended: a former member does not learn what it is called since.
  store_name text not null,
  role text not null check (role in ('OWNER', 'MANAGER', 'STAFF', 'CUSTOMER')),
  permissions text[],
  revision int not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  ended_at timestamptz not null,
  -- When they were removed or demoted last: they accept no invitation from before, whichever address it was sent to.
  removed_at timestamptz,
  primary key (store_id, user_id)
);
create index former_members_user_id_idx on former_members (user_id, store_id);

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
  -- Of an invitation that was made with a key: the number of the secret it was made with. The invitation is worth something
  -- as long as that very secret is.
  created_by_secret_no int,
  -- Of an invitation that was made with a session: it ends when that session is ended for safety. Null for keys, and for
  -- users who called with a token of their identity provider.
  created_by_session_id text collate "C",
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
-- For what a member or a key has made.
create index invitations_created_by_idx on invitations (created_by_id, store_id);
-- As in api_keys (0006_keys.sql).
alter table invitations alter column created_by_id set (n_distinct = -0.1);
-- For the invitations to somebody in a store. Not of the open ones alone: without statistics any such index seems to hold
-- one row, and the wrong one is read from end to end.
create index invitations_email_store_id_idx on invitations (email, store_id);
-- Of a store's invitations only the open ones are listed and counted, however many were withdrawn or have expired. An
-- expression, and no condition: an index of the open ones alone would be taken for statements that another index is made
-- for.
create index invitations_open_until_idx on invitations
  (store_id, (case when accepted_at is null and withdrawn_at is null then expires_at end));
