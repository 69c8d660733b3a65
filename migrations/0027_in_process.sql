-- Verifying in the processes of back ends: they follow the changes of keys, and report what they counted.

-- A back end hears only of the stores of its service token, so a notification of a changed key also names its store.
-- Nodes of the release before listen to the first channel, and know payloads of one id only.
create or replace function notify_key_changed() returns trigger language plpgsql as $$
begin
  perform pg_notify('storekeeper_keys', old.id);
  if tg_table_name = 'api_keys' then
    perform pg_notify('storekeeper_changes', old.id || ' ' || old.store_id);
  else
    perform pg_notify('storekeeper_changes', old.id);
  end if;
  return null;
end $$;

-- A service token that is revoked, or bound to other stores, ends the streams that were opened with it.
create function notify_service_token_changed() returns trigger language plpgsql as $$
begin
  perform pg_notify('storekeeper_changes', old.id);
  return null;
end $$;

create trigger service_tokens_notify_changed
  after update of revoked_at, store_ids, hash or delete on service_tokens
  for each row execute function notify_service_token_changed();

-- The last report of use that was written of each process of a back end: a report that is sent again counts once.
create table usage_reporters (
  service_id text collate "C" not null,
  id text collate "C" not null,
  seq bigint not null,
  at timestamptz not null,
  primary key (service_id, id)
);
create index usage_reporters_at_idx on usage_reporters (at);
