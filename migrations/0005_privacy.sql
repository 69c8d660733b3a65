-- What a user may ask of us: all that is held about them, and to be forgotten. And a server secret that can be changed.

-- Found for an export, across stores. A concurrent build runs first and by itself, beside the traffic.
create index concurrently addresses_by_user on addresses (user_id, id);
create index concurrently address_versions_by_user on address_versions (user_id, address_id, version);
create index concurrently address_defaults_by_user on address_defaults (user_id, id);
-- What somebody did, in whichever store, also where they have no part any more. It costs each event some 5 µs to write.
create index concurrently events_of_person on events ((actor ->> 'id'), id);
-- What was done to somebody, or to an invitation they were sent. The events of keys and addresses are not in it.
create index concurrently events_about_person on events (subject, id)
  where subject ^@ 'user_' or subject ^@ 'inv_';
create index concurrently invitations_by_email on invitations (email, id);
create index concurrently invitations_by_accepter on invitations (accepted_by, id) where accepted_by is not null;

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
