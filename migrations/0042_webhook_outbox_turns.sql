-- Stores take turns when events are turned into deliveries: whose store it is, and how many deliveries a row becomes at most.
alter table webhook_outbox add column store_id text collate "C", add column deliveries int;

create or replace function write_webhook_outbox() returns trigger language plpgsql as $$
begin
  insert into webhook_outbox (store_id, deliveries, webhook_ids, webhook_types, event_ids)
  select happened.store_id, cardinality(happened.event_ids) * cardinality(subscribed.webhook_ids),
         subscribed.webhook_ids, subscribed.webhook_types, happened.event_ids
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

update webhook_outbox
   set store_id = coalesce((select store_id from events where events.id = event_ids[1]), ''),
       deliveries = cardinality(event_ids) * cardinality(webhook_ids)
 where store_id is null;
alter table webhook_outbox alter column store_id set not null, alter column deliveries set not null;
create index webhook_outbox_store_id_idx on webhook_outbox (store_id, id);
