-- Whoever leaves a store decides over what they made since the store last decided over it: when they became a member, or
-- when somebody else last took rights from them and kept or ended what they had made.

-- Before members is locked.
create temporary table demotions on commit drop as
select event.store_id, event.subject as user_id, max(event.at) as at
  from events event
 where event.type = 'member.updated'
   and (event.actor ->> 'id') is distinct from event.subject
   and (not (event.data #> '{to,permissions}')::jsonb @> (event.data #> '{from,permissions}')::jsonb
        or (event.data #>> '{from,role}' = 'OWNER' and event.data #>> '{to,role}' <> 'OWNER'))
 group by event.store_id, event.subject;

-- The last demotion by somebody else. Null: there was none, and everything since created_at is theirs.
alter table members add column demoted_at timestamptz;

update members member
   set demoted_at = demotion.at
  from demotions demotion
 where demotion.store_id = member.store_id
   and demotion.user_id = member.user_id
   and demotion.at >= member.created_at;
