-- Webhooks, the outbox of events that are to be sent to them, and the deliveries.

create table webhooks (
  id text collate "C" primary key,
  store_id text collate "C" not null references stores on delete cascade,
  url text not null,
  types text[] not null,
  description text,
  enabled boolean not null default true,
  disabled_at timestamptz,
  disabled_reason text check (disabled_reason in ('REQUESTED', 'GONE', 'FAILING')),
  -- Sealed under the server secret named by the kid, not hashed: it is needed for signing.
  secret bytea not null,
  secret_kid text not null,
  -- Signs as well, until it expires.
  previous_secret bytea,
  previous_secret_kid text,
  previous_expires_at timestamptz,
  -- Since when every attempt has failed.
  failing_since timestamptz,
  created_by_kind text not null,
  created_by_id text collate "C" not null,
  -- Of a webhook that was made with a key: the number of the secret it was made with.
  created_by_secret_no int,
  revision int not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint webhooks_disabled_complete check (enabled = (disabled_at is null) and enabled = (disabled_reason is null)),
  constraint webhooks_previous_complete check (
    (previous_secret is null) = (previous_expires_at is null) and (previous_secret is null) = (previous_secret_kid is null)
  )
);
create index webhooks_store_id_idx on webhooks (store_id, id);
-- For what a member or a key has made.
create index webhooks_created_by_idx on webhooks (created_by_id, store_id);
-- As in api_keys.
alter table webhooks alter column created_by_id set (n_distinct = -0.1);

create trigger webhooks_remember_maker
  after insert on webhooks
  for each row when (new.created_by_kind = 'key') execute function remember_key_maker();

-- Events that have been written but not yet turned into deliveries. A row is committed with the change itself, so an event
-- that was rolled back is never sent, and a committed one is never missed. A row becomes about 100 deliveries, whether they
-- are 100 events for one webhook or 5 events for 20, so that a statement that writes very many events is turned into
-- deliveries step by step.
create table webhook_outbox (
  id bigint generated always as identity primary key,
  -- Accounts, and not stores, take turns when events are turned into deliveries.
  account text collate "C" not null,
  -- How many deliveries the row becomes at most.
  deliveries int not null,
  -- The webhooks enabled when the events were written, and beside each, in the same order, the types it was subscribed to:
  -- later changes of a subscription do not matter.
  webhook_ids text[] not null,
  webhook_types jsonb not null,
  event_ids text[] not null
) with (
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 1000
);
create index webhook_outbox_account_idx on webhook_outbox (account, id);
-- This index leads to the small rows without passing by the large ones.
create index webhook_outbox_small_idx on webhook_outbox (id) where deliveries <= 50;

-- A trigger, so that no writer can forget it, and for each statement, so that a batch of events costs few rows.
create function write_webhook_outbox() returns trigger language plpgsql as $$
begin
  insert into webhook_outbox (account, deliveries, webhook_ids, webhook_types, event_ids)
  select account_of(happened.store_id), cardinality(part.event_ids) * subscribed.webhooks, subscribed.webhook_ids, subscribed.webhook_types,
         part.event_ids
    from (
           select store_id, array_agg(id) as event_ids
             from written
            where store_id is not null
            group by store_id
            order by store_id
         ) as happened
   cross join lateral (
           select count(*)::int as webhooks, greatest(100 / nullif(count(*)::int, 0), 1) as events_each,
                  array_agg(id order by id) as webhook_ids, jsonb_agg(to_jsonb(types) order by id) as webhook_types
             from webhooks
            where webhooks.store_id = happened.store_id
              and webhooks.enabled
         ) as subscribed
   cross join lateral (
           select happened.event_ids[first : first + subscribed.events_each - 1] as event_ids
             from generate_series(1, cardinality(happened.event_ids), subscribed.events_each) as first
         ) as part
   where subscribed.webhooks > 0;
  return null;
end $$;

create trigger events_write_webhook_outbox
  after insert on events
  referencing new table as written
  for each statement execute function write_webhook_outbox();

-- One event on its way to one webhook. No foreign key: deleting a webhook with very many deliveries must be quick, and
-- maintenance deletes its deliveries afterwards. It deletes from this table all the time: with the default, a fifth of the
-- table would be dead before a vacuum.
create table webhook_deliveries (
  webhook_id text collate "C" not null,
  id text collate "C" not null,
  -- The event's id, which is also the message's: the receiver recognises a repetition by it.
  event_id text collate "C" not null,
  type text not null,
  cause text not null check (cause in ('EVENT', 'TEST', 'REDELIVERY')),
  status text not null default 'PENDING' check (status in ('PENDING', 'DELIVERED', 'FAILED')),
  attempts int not null default 0,
  -- When it is due. While a node is delivering it: when that node's lease ends.
  next_attempt_at timestamptz,
  last_attempt_at timestamptz,
  duration_ms int,
  response_status int,
  response_body text,
  error text,
  created_at timestamptz not null,
  primary key (webhook_id, id)
) with (
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05
);
create index webhook_deliveries_due_idx on webhook_deliveries (webhook_id, next_attempt_at) where status = 'PENDING';
-- For maintenance: the oldest rows first, in bounded batches.
create index webhook_deliveries_age_idx on webhook_deliveries (created_at);
