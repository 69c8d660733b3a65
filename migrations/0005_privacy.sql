-- What a user may ask of us: all that is held about them, and to be forgotten. And a server secret that can be changed.

-- Found for an export, across stores. A concurrent build runs first and by itself, beside the traffic.
create index concurrently addresses_by_user on addresses (user_id, id);
create index concurrently address_versions_by_user on address_versions (user_id, address_id, version);
-- What somebody did in no store: signing in and out. (In a store they are found among the store's own; an index over all
-- events by their actor would make each of them a tenth dearer to write.)
create index concurrently events_of_person on events ((actor ->> 'id'), id) where store_id is null;
create index concurrently invitations_by_email on invitations (email);
create index concurrently invitations_by_accepter on invitations (accepted_by) where accepted_by is not null;

-- An erased user stays as a row that says nothing: events, keys and addresses go on pointing at it.
alter table users
  add column erased_at timestamptz,
  alter column data_key drop not null,
  alter column data_key_kid drop not null,
  drop constraint users_known_by_something,
  -- Not checked against the rows that are here: the constraint before this one says as much about them.
  add constraint users_known_by_something check (
    case
      when erased_at is null then
        data_key is not null and data_key_kid is not null
        and ((email is not null and password_hash is not null) or (issuer is not null and subject is not null))
      else
        email is null and name is null and password_hash is null and issuer is null and subject is null
        and data_key is null and data_key_kid is null
    end
  ) not valid;

-- Of somebody who was erased; an invitation that is open always has one.
alter table invitations alter column email drop not null;

-- Which server secret everything is to be moved to, once the operator has said so: only then do keys move as they are
-- used, and never back to a secret that some node still knows as its current one.
create table server_secret (
  -- There is one row.
  n int primary key default 1 check (n = 1),
  kid text not null,
  since timestamptz not null
);
