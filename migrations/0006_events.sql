-- The trail gets an order: each event that has been committed is given the next position of its store, and a hash that
-- holds it and all that came before. Whoever writes an event does none of that: see src/events/seal.ts.

alter table events
  -- The transaction that wrote it. What committed before another began has the smaller number.
  add column tx xid8 not null default '0',
  add column seq bigint,
  add column hash bytea,
  add constraint events_sealed_whole check ((seq is null) = (hash is null));
-- A constant for what is there already, so that the table is not written anew.
alter table events alter column tx set default pg_current_xact_id();

-- All that a writer pays for: this one instead of the other. The rest holds sealed events only.
create index events_unsealed on events (tx, id) where seq is null;
drop index events_of_store;
create unique index events_in_order on events (store_id, seq) where seq is not null;
create unique index events_of_no_store on events (seq) where store_id is null and seq is not null;
create index events_of_type on events (store_id, type, seq) where seq is not null;
create index events_of_subject on events (store_id, subject, seq) where seq is not null;

-- The end of each chain: of a store, or `system` for what belongs to none. It outlives its store, as the events do.
create table event_heads (
  chain text collate "C" primary key,
  seq bigint not null,
  hash bytea not null,
  at timestamptz not null
);
