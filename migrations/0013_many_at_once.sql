-- Whose keys are whose, when somebody's part in a store ends: however many keys there are.
create index concurrently api_keys_of_maker on api_keys (created_by_id, store_id);

-- A row of the outbox holds a hundred events at most, so that a statement that writes very many is handed out bit by bit.
create or replace function queue_for_webhooks() returns trigger language plpgsql as $$
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
