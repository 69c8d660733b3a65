-- 0005 was once applied with fewer indexes, and narrower ones. A database that has those gets what any other has; any other
-- is not touched. (Not beside the traffic: such a database is young.)
create index if not exists address_defaults_by_user on address_defaults (user_id, id);
create index if not exists events_about_person on events (subject, id)
  where subject ^@ 'user_' or subject ^@ 'inv_';

do $$
begin
  if pg_get_indexdef('events_of_person'::regclass) like '% WHERE %' then
    drop index events_of_person;
    create index events_of_person on events ((actor ->> 'id'), id);
  end if;
  if pg_get_indexdef('invitations_by_email'::regclass) not like '%, id)%' then
    drop index invitations_by_email, invitations_by_accepter;
    create index invitations_by_email on invitations (email, id);
    create index invitations_by_accepter on invitations (accepted_by, id) where accepted_by is not null;
  end if;
end $$;
