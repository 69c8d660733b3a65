-- Accounts take turns when events are turned into deliveries, not stores: of a store's owners, the one whose account is the oldest.
-- A row becomes about 100 deliveries, whether they are 100 events for one webhook or 5 events for 20. An index leads to
-- the small rows without passing by the large ones. (Nodes of the previous version still read store_id.)
alter table webhook_outbox add column account text collate "C";
update webhook_outbox
   set account = coalesce((
         select user_id
           from members
          where members.store_id = webhook_outbox.store_id
            and role = 'OWNER'
          order by user_id
          limit 1
       ), '-');
alter table webhook_outbox alter column account set not null;
drop index webhook_outbox_store_id_idx;
create index webhook_outbox_account_idx on webhook_outbox (account, id);
create index webhook_outbox_small_idx on webhook_outbox (id) where deliveries <= 50;

create or replace function write_webhook_outbox() returns trigger language plpgsql as $$
begin
  insert into webhook_outbox (store_id, account, deliveries, webhook_ids, webhook_types, event_ids)
  select happened.store_id, coalesce((
           select user_id
             from members
            where members.store_id = happened.store_id
              and role = 'OWNER'
            order by user_id
            limit 1
         ), '-'), cardinality(part.event_ids) * subscribed.webhooks, subscribed.webhook_ids, subscribed.webhook_types,
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
