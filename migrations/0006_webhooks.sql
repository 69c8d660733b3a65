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
  revision int not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint webhooks_disabled_complete check (enabled = (disabled_at is null) and enabled = (disabled_reason is null)),
  constraint webhooks_previous_complete check (
    (previous_secret is null) = (previous_expires_at is null) and (previous_secret is null) = (previous_secret_kid is null)
  )
);
create index webhooks_store_id_idx on webhooks (store_id, id);

-- Events that have been written but not yet turned into deliveries. A row is committed with the change itself, so an event
-- that was rolled back is never sent, and a committed one is never missed. It holds a hundred events at most, so that a
-- statement that writes very many is turned into deliveries step by step.
create table webhook_outbox (
  id bigint generated always as identity primary key,
  -- The webhooks enabled when the events were written, and beside each, in the same order, the types it was subscribed to:
  -- later changes of a subscription do not matter.
  webhook_ids text[] not null,
  webhook_types jsonb not null,
  event_ids text[] not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- A trigger, so that no writer can forget it, and for each statement, so that a batch of events costs one row.
create function write_webhook_outbox() returns trigger language plpgsql as $$
begin
  insert into webhook_outbox (webhook_ids, webhook_types, event_ids)
  select subscribed.webhook_ids, subscribed.webhook_types, happened.event_ids
    from (
           select store_id, array_agg(id) as event_ids
             from (
                    select store_id, id, (row_number() over (partition by store_id) - 1) / 100 as part
                      from written
                     where store_id is not null
                  ) as numbered
            group by store_id, part
            order by store_id, part
         ) as happened
   cross join lateral (
           select array_agg(id order by id) as webhook_ids, jsonb_agg(to_jsonb(types) order by id) as webhook_types
             from webhooks
            where webhooks.store_id = happened.store_id
              and webhooks.enabled
         ) as subscribed
   where subscribed.webhook_ids is not null;
  return null;
end $$;

create trigger events_write_webhook_outbox
  after insert on events
  referencing new table as written
  for each statement execute function write_webhook_outbox();

-- One event on its way to one webhook. No foreign key: deleting a webhook with very many deliveries must be quick, and
-- maintenance deletes its deliveries afterwards.
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
);
create index webhook_deliveries_due_idx on webhook_deliveries (webhook_id, next_attempt_at) where status = 'PENDING';
create index webhook_deliveries_created_at_idx on webhook_deliveries using brin (created_at);
