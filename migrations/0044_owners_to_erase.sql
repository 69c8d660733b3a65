-- The external ids of a user who was erased, that keys still have as their owner. Each store gives these keys a pseudonym by itself,
-- as soon as the user is erased (src/identity/erase-owners.ts), and deletes the row.
create table owners_to_erase (
  store_id text collate "C" not null references stores on delete cascade,
  owner text collate "C" not null,
  -- Who erased them, for the events.
  actor json not null,
  primary key (store_id, owner)
);

-- The external ids of users who are no longer linked: they left the store, were removed or got another role. Only an erasure reads
-- them, because keys may still have them as their owner. An id is that of the last user who was linked to it.
create table former_links (
  store_id text collate "C" not null references stores on delete cascade,
  external_id text collate "C" not null,
  user_id text collate "C" not null references users on delete cascade,
  primary key (store_id, external_id)
);
create index former_links_user_id_idx on former_links (user_id);

-- The store's name when the membership ended: a former member does not learn what it is called since.
alter table former_members add column store_name text not null default '';
