-- Webhooks: who wants to hear of what happens in a store, what is waiting to be told, and how each telling went.

create table webhooks (
  id text collate "C" primary key,
  store_id text collate "C" not null references stores on delete cascade,
  url text not null,
  types text[] not null,
  description text,
  enabled boolean not null default true,
  disabled_at timestamptz,
  disabled_reason text check (disabled_reason in ('REQUESTED', 'GONE', 'FAILING')),
  -- Sealed under the server secret named by the kid: it must be there to sign with, so a hash will not do.
  secret bytea not null,
  secret_kid text not null,
  -- The one before signs too, until its end.
  previous_secret bytea,
  previous_secret_kid text,
  previous_expires_at timestamptz,
  -- Since when every try has failed.
  failing_since timestamptz,
  created_by_kind text not null,
  created_by_id text collate "C" not null,
  revision int not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint webhooks_disabled_whole check (enabled = (disabled_at is null) and enabled = (disabled_reason is null)),
  constraint webhooks_previous_whole check (
    (previous_secret is null) = (previous_expires_at is null) and (previous_secret is null) = (previous_secret_kid is null)
  )
);
create index webhooks_of_store on webhooks (store_id, id);

-- What was written and not yet handed out: one row for each statement that wrote events in a store with webhooks.
-- Committed with the change itself, so nothing is told of what was rolled back and nothing that was committed is missed.
create table webhook_outbox (
  id bigint generated always as identity primary key,
  -- The webhooks that were on when it was written, whatever they listen to.
  webhook_ids text[] not null,
  event_ids text[] not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- In the database, so that no writer can forget it, and for each statement, so that a batch of events costs one row.
create function queue_for_webhooks() returns trigger language plpgsql as $$
begin
  insert into webhook_outbox (webhook_ids, event_ids)
  select subscribed.webhook_ids, happened.event_ids
    from (
           select store_id, array_agg(id) as event_ids
             from written
            where store_id is not null
            group by store_id
         ) as happened
   cross join lateral (
           select array_agg(id) as webhook_ids
             from webhooks
            where webhooks.store_id = happened.store_id
              and webhooks.enabled
         ) as subscribed
   where subscribed.webhook_ids is not null;
  return null;
end $$;

create trigger events_for_webhooks
  after insert on events
  referencing new table as written
  for each statement execute function queue_for_webhooks();

-- One event on its way to one webhook. No foreign key: a webhook with very many of them must go within a moment, and the
-- house-keeping sweeps up behind it.
create table webhook_deliveries (
  webhook_id text collate "C" not null,
  id text collate "C" not null,
  -- The event's id, which is also the message's: the receiver knows a repetition by it.
  event_id text collate "C" not null,
  type text not null,
  cause text not null check (cause in ('EVENT', 'TEST', 'REDELIVERY')),
  status text not null default 'PENDING' check (status in ('PENDING', 'DELIVERED', 'FAILED')),
  attempts int not null default 0,
  -- When it is due. While a node is at it: when that node is taken for lost.
  next_attempt_at timestamptz,
  last_attempt_at timestamptz,
  duration_ms int,
  response_status int,
  response_body text,
  error text,
  created_at timestamptz not null,
  primary key (webhook_id, id)
);
create index webhook_deliveries_due on webhook_deliveries (webhook_id, next_attempt_at) where status = 'PENDING';
create index webhook_deliveries_by_age on webhook_deliveries using brin (created_at);
