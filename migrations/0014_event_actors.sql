-- The trail can be asked for what one actor did, in the order of positions.

alter table event_seals add column actor text collate "C";

alter table event_seals disable trigger event_seals_append_only;
update event_seals seal
   set actor = coalesce(event.actor ->> 'id', '')
  from events event
 where event.id = seal.event_id;
alter table event_seals enable trigger event_seals_append_only;

alter table event_seals alter column actor set not null;
create index event_seals_actor_idx on event_seals (chain, actor, seq);
