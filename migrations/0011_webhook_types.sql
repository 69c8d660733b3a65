-- What each of the webhooks listened to when it happened, in the order of their ids: what was committed while somebody
-- listened is theirs, whatever they change afterwards.
alter table webhook_outbox add column webhook_types jsonb;
update webhook_outbox
   set webhook_types = (
         select jsonb_agg(coalesce(to_jsonb(webhook.types), '[]') order by subscribed.nth)
           from unnest(webhook_ids) with ordinality as subscribed(id, nth)
           left join webhooks webhook on webhook.id = subscribed.id
       );
alter table webhook_outbox alter column webhook_types set not null;

create or replace function queue_for_webhooks() returns trigger language plpgsql as $$
begin
  insert into webhook_outbox (webhook_ids, webhook_types, event_ids)
  select subscribed.webhook_ids, subscribed.webhook_types, happened.event_ids
    from (
           select store_id, array_agg(id) as event_ids
             from written
            where store_id is not null
            group by store_id
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
