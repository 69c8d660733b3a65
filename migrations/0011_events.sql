-- Events, and their seals: each committed event is given the next position in the chain of its store, and a hash over
-- itself and all events before it. Sealing is a pass of its own (src/events/seal.ts): writing an event does none of it.

-- Written in the transaction of the change itself; an event outlives its subject. The table only grows. A vacuum marks new
-- pages as visible to all, which spares reads of an index the table, and a late one has all of them to mark.
create table events (
  id text collate "C" primary key,
  store_id text collate "C",
  type text not null,
  at timestamptz not null,
  actor json not null,
  subject text collate "C" not null,
  data json not null,
  -- The transaction that wrote it. A transaction that committed before another began has the smaller number.
  tx xid8 not null default pg_current_xact_id()
) with (
  autovacuum_vacuum_insert_scale_factor = 0.02,
  autovacuum_analyze_scale_factor = 0.02
);
-- By it the sealing pass finds unsealed events.
create index events_tx_idx on events (tx, id);
-- For a user's export: all that a user did, in every store, even after leaving it. It costs each event some 5 µs to write.
create index events_actor_idx on events ((actor ->> 'id'), id);
-- For a user's export: all that was done to a user, or to an invitation. Events of keys and addresses are left out.
create index events_person_subject_idx on events (subject, id)
  where subject ^@ 'user_' or subject ^@ 'inv_';

-- Positions are kept beside the events, so that an event is written once and never updated. Type, subject and actor are
-- repeated here, so that each can be listed in the order of positions. This table only grows, too.
create table event_seals (
  -- A store, or `system` for events that belong to none. It outlives its store, as the events do.
  chain text collate "C" not null,
  seq bigint not null,
  event_id text collate "C" not null,
  hash bytea not null,
  type text collate "C" not null,
  subject text collate "C" not null,
  -- Empty: the actor has no id.
  actor text collate "C" not null,
  primary key (chain, seq)
) with (
  autovacuum_vacuum_insert_scale_factor = 0.02,
  autovacuum_analyze_scale_factor = 0.02
);
create unique index event_seals_event_id_idx on event_seals (event_id);
create index event_seals_type_idx on event_seals (chain, type, seq);
create index event_seals_subject_idx on event_seals (chain, subject, seq);
create index event_seals_actor_idx on event_seals (chain, actor, seq);

-- The end of each chain. A few rows, each of which is updated again and again: the pages have room for that.
create table event_heads (
  chain text collate "C" primary key,
  seq bigint not null,
  hash bytea not null,
  at timestamptz not null
) with (
  fillfactor = 50,
  autovacuum_vacuum_scale_factor = 0.05
);

-- How far sealing has come: all events up to (tx, id) are sealed, except those of the transactions in `open`, which were
-- in progress at that time; of each of these all events up to the id beside it are sealed.
create table event_watermark (
  -- There is one row.
  n int primary key default 1 check (n = 1),
  tx xid8 not null,
  id text collate "C" not null,
  open json not null,
  -- The server on which tx counts. When the database runs on another one, it was restored there, and the events that came
  -- along are sealed before any others (src/events/seal.ts).
  server text
);
insert into event_watermark (tx, id, open) values ('0', '', '[]');

-- Events without a position. (Above the upper bound there are only events written on another server and restored here.)
create view unsealed_events as
  select event.id, event.store_id, event.type, event.at, event.actor, event.subject, event.data, event.tx
    from event_watermark mark
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

-- Events and seals are never changed or deleted, neither by this service nor by mistake. (The owner of the database can
-- switch this off; the chain shows it then: see `storekeeper events verify`.)
create trigger events_append_only
  before update or delete or truncate on events
  for each statement execute function reject_change();
create trigger event_seals_append_only
  before update or delete or truncate on event_seals
  for each statement execute function reject_change();

-- Without the watermark, or without the end of a chain, nothing more can be sealed.
create trigger event_watermark_undeletable
  before delete or truncate on event_watermark
  for each statement execute function reject_change();
create trigger event_heads_undeletable
  before delete or truncate on event_heads
  for each statement execute function reject_change();
