-- Events, partitioned by month: by ranges of their ids, which begin with the time. Whoever reads or writes events does so
-- as before; each month has indexes and a vacuum of its own, and an old one can be moved to a cheaper disk.

drop view unsealed_events;
alter table events rename to events_first;
alter index events_pkey rename to events_first_pkey;
-- The names that PostgreSQL gives to the indexes of partitions.
alter index events_tx_idx rename to events_first_tx_id_idx;
alter index events_actor_idx rename to events_first_expr_id_idx;
alter index events_person_subject_idx rename to events_first_subject_id_idx;
alter table events_first set (autovacuum_vacuum_insert_scale_factor = 0.05);
drop trigger events_write_webhook_outbox on events_first;

create table events (
  id text collate "C" not null,
  store_id text collate "C",
  type text not null,
  at timestamptz not null,
  actor json not null,
  subject text collate "C" not null,
  data json not null,
  tx xid8 not null default pg_current_xact_id(),
  primary key (id)
) partition by range (id);
create index events_tx_idx on events (tx, id);
create index events_actor_idx on events ((actor ->> 'id'), id);
create index events_person_subject_idx on events (subject, id)
  where subject ^@ 'user_' or subject ^@ 'inv_';

-- The check proves that every row is in its range, so none is read here; the indexes that are there become parts of those
-- above.
do $$
begin
  execute format(
    'alter table events attach partition events_first for values from (minvalue) to (%L)',
    (
      select substring(pg_get_constraintdef(oid) from '''(evt_[^'']*)''')
        from pg_constraint
       where conname = 'events_first_bound'
         and conrelid = 'events_first'::regclass
    )
  );
end $$;
alter table events_first drop constraint events_first_bound;

-- A trigger for statements fires on the table that the statement names, so each partition has one of its own.
create trigger events_append_only
  before update or delete or truncate on events
  for each statement execute function reject_change();
create trigger events_write_webhook_outbox
  after insert on events
  referencing new table as written
  for each statement execute function write_webhook_outbox();

-- As before, of the table that is now named events. (Without "offset 0" the planner, to which a look into each of many
-- partitions seems dear, would read all events and compare each with the open transactions, of which there are none mostly.)
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
          cross join lateral (
                  select *
                    from events
                   where events.tx = open.tx
                     and events.id > open.id
                  offset 0
                ) as late
         ) as event
   where mark.n = 1
     and not exists (select from event_seals seal where seal.event_id = event.id);

-- Creates a partition, as a migration, maintenance or a restore wants it.
create function create_event_partition(name text, bound text) returns void language plpgsql as $$
begin
  execute format('create table %I (like events including defaults) with (autovacuum_vacuum_insert_scale_factor = 0.05)', name);
  execute format(
    'create trigger events_append_only before update or delete or truncate on %I for each statement execute function reject_change()',
    name
  );
  execute format('alter table events attach partition %I %s', name, bound);
end $$;

-- Adds the partition of the month that begins at `month`; false when nothing is to be done, or not now. Months are added in
-- order: one that begins below the end of another partition is there. A month whose first events are in the default
-- partition stays there as a whole. Attaching locks the default partition, which a backup reads for a long time: then the
-- month is added later.
create function add_event_month(month timestamptz) returns boolean
  language plpgsql set timezone = 'UTC' set lock_timeout = '200ms' as $$
declare
  first_id text := first_event_id(month);
  end_id text := first_event_id(month + interval '1 month');
  is_there boolean;
begin
  select coalesce(bool_or(
           substring(pg_get_expr(partition.relpartbound, partition.oid) from 'TO \(''([^'']*)''\)') collate "C" > first_id
         ), false)
    into is_there
    from pg_inherits inheritance
    join pg_class partition on partition.oid = inheritance.inhrelid
   where inheritance.inhparent = 'events'::regclass;
  if is_there or exists (select from events_default where id >= first_id and id < end_id) then
    return false;
  end if;
  perform create_event_partition(
    to_char(month, '"events_"YYYY_MM'),
    format('for values from (%L) to (%L)', first_id, end_id)
  );
  return true;
exception
  when lock_not_available then
    return false;
end $$;

-- For months that have no partition: an event can always be written.
select create_event_partition('events_default', 'default');
