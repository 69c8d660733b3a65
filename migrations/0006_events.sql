-- The trail gets an order: each event that has been committed is given the next position of its store, and a hash that
-- holds it and all that came before. Whoever writes an event does none of that: see src/events/seal.ts.

-- The transaction that wrote it. What committed before another began has the smaller number. A constant for what is
-- there already, so that the table is not written anew.
alter table events add column tx xid8 not null default '0';
alter table events alter column tx set default pg_current_xact_id();

-- Positions stand beside the events: an event is written once and never touched again. Type and subject are here again,
-- so that each is found in the order of positions.
create table event_seals (
  -- A store, or `system` for what belongs to none. It outlives its store, as the events do.
  chain text collate "C" not null,
  seq bigint not null,
  event_id text collate "C" not null,
  hash bytea not null,
  type text collate "C" not null,
  subject text collate "C" not null,
  primary key (chain, seq)
);
create unique index event_seals_of_event on event_seals (event_id);
create index event_seals_of_type on event_seals (chain, type, seq);
create index event_seals_of_subject on event_seals (chain, subject, seq);

-- The end of each chain.
create table event_heads (
  chain text collate "C" primary key,
  seq bigint not null,
  hash bytea not null,
  at timestamptz not null
);

-- How far sealing has come: all up to (tx, id) is sealed, but for transactions that were under way then, and of those all
-- up to the id beside them.
create table event_mark (
  -- There is one row.
  n int primary key default 1 check (n = 1),
  tx xid8 not null,
  id text collate "C" not null,
  open json not null
);
insert into event_mark (tx, id, open) values ('0', '', '[]');

-- What has no position yet. (Above the upper bound stands only what was written on another server and restored here.)
create view events_waiting as
  select event.id, event.store_id, event.type, event.at, event.actor, event.subject, event.data, event.tx
    from event_mark mark
   cross join lateral (
         select newer.*
           from events newer
          where (newer.tx, newer.id) > (mark.tx, mark.id)
            and newer.tx < pg_snapshot_xmax(pg_current_snapshot())
          union all
         select late.*
           from json_to_recordset(mark.open) as open(tx xid8, id text)
           join events late on late.tx = open.tx and late.id > open.id
         ) as event
   where mark.n = 1
     and not exists (select from event_seals seal where seal.event_id = event.id);

-- Neither changes, once written.
create trigger events_stay
  before update on events
  for each statement execute function refuse_change();
create trigger event_seals_stay
  before update on event_seals
  for each statement execute function refuse_change();
