-- Who holds what in a store, for when they go: who took each secret of a key, with which secret of which key the rest was
-- made, and who was a member once.

-- Who rotated a key, and so took its new secret. The first secret of a key was taken by the creator of the key.
create table key_rotations (
  key_id text collate "C" not null,
  -- The number of the secret that was taken.
  secret_no int not null,
  rotated_by_kind text not null,
  rotated_by_id text collate "C" not null,
  -- Of a key that rotated another, or itself: the number of the secret it was called with. Null for users, and where it is
  -- not known: then it may have been any secret of that key.
  rotated_by_secret_no int,
  rotated_at timestamptz not null,
  primary key (key_id, secret_no)
);

-- The rotations so far, from their events. The newest one made the secret that is current now.
insert into key_rotations (key_id, secret_no, rotated_by_kind, rotated_by_id, rotated_at)
select key.id, key.secret_no + 1 - rotation.nth_newest, rotation.actor ->> 'kind', rotation.actor ->> 'id', rotation.at
  from (
         select subject, actor, at, row_number() over (partition by subject order by id desc) as nth_newest
           from events
          where type = 'key.rotated'
       ) as rotation
  join api_keys key on key.id = rotation.subject
 where rotation.nth_newest < key.secret_no;

-- Members who left, were removed or were erased, as they were then. Whoever came back since has a row in members too.
create table former_members (
  store_id text collate "C" not null,
  user_id text collate "C" not null,
  role text not null check (role in ('OWNER', 'MANAGER', 'STAFF', 'CUSTOMER')),
  permissions text[],
  revision int not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  ended_at timestamptz not null,
  primary key (store_id, user_id)
);

-- Of those who went before this table was there the events tell the role and the end; since when, is left at the end too.
insert into former_members (store_id, user_id, role, created_at, updated_at, ended_at)
select distinct on (store.id, event.subject)
       store.id, event.subject, event.data ->> 'role', event.at, event.at, event.at
  from events event
  join stores store on store.id = event.store_id
  join users person on person.id = event.subject
 where event.type in ('member.removed', 'member.left')
 order by store.id, event.subject, event.id desc;

create index former_members_user_id_idx on former_members (user_id, store_id);
create index key_rotations_rotated_by_idx on key_rotations (rotated_by_id);
-- For what a member or a key has made.
create index webhooks_created_by_idx on webhooks (created_by_id, store_id);
create index invitations_created_by_idx on invitations (created_by_id, store_id);
-- For the invitations to somebody in a store. Not of the open ones alone: without statistics any such index seems to hold
-- one row, and the wrong one is read from end to end.
create index invitations_email_store_id_idx on invitations (email, store_id);

-- From here on the tables that are in use are locked, for a moment.
alter table former_members
  add foreign key (store_id) references stores on delete cascade,
  add foreign key (user_id) references users on delete cascade;
alter table key_rotations
  add foreign key (key_id) references api_keys on delete cascade;
alter table webhooks
  -- Of the key in created_by_id: the number of the secret it was made with. Null for users, and where it is not known.
  add column created_by_secret_no int;
alter table api_keys
  add column created_by_secret_no int,
  -- When the last rotation was over, by the clock of the database. While one is under way: when it is given up for lost.
  add column rotation_done_at timestamptz;
