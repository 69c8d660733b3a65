-- The external ids of a user who was erased, that keys still have as their owner. Each store gives these keys a pseudonym by itself,
-- as soon as the user is erased (src/identity/erase-owners.ts), and deletes the row.
create table owners_to_erase (
  store_id text collate "C" not null references stores on delete cascade,
  owner text collate "C" not null,
  -- Who erased them, for the events.
  actor json not null,
  primary key (store_id, owner)
);
