-- Settling somebody follows what they made and took (keys/made.ts). A store has any number of keys that were revoked or have
-- expired. Of these only the ones something was made with are followed, so they are kept apart; the others are passed by.

-- The index that this one replaces has the same first columns. The last one tells until when a key works.
create index concurrently api_keys_made_idx on api_keys
  (created_by_id, store_id, created_by_secret_no,
   (case when revoked_at is null then coalesce(expires_at, 'infinity'::timestamptz) else '-infinity'::timestamptz end));

-- The keys with which a key, a webhook or an invitation was made, or the secret of a key taken: who made them, and with
-- which secret, as in api_keys.
create table key_makers (
  key_id text collate "C" primary key references api_keys on delete cascade,
  store_id text collate "C" not null,
  created_by_id text collate "C" not null,
  created_by_secret_no int
);
create index key_makers_made_idx on key_makers (created_by_id, store_id, created_by_secret_no);

-- On every way, also those of an older release. Under the lock of the store, so nobody waits here.
create function remember_key_maker() returns trigger
language plpgsql as $$
declare
  maker_id text;
begin
  if tg_table_name = 'key_rotations' then
    maker_id := new.rotated_by_id;
  else
    maker_id := new.created_by_id;
  end if;
  if not exists (select from key_makers where key_id = maker_id) then
    insert into key_makers (key_id, store_id, created_by_id, created_by_secret_no)
    select id, store_id, created_by_id, created_by_secret_no
      from api_keys
     where id = maker_id
        on conflict do nothing;
  end if;
  return null;
end
$$;

drop index api_keys_created_by_idx;

create trigger api_keys_remember_maker
  after insert on api_keys
  for each row when (new.created_by_kind = 'key') execute function remember_key_maker();
create trigger key_rotations_remember_maker
  after insert on key_rotations
  for each row when (new.rotated_by_kind = 'key') execute function remember_key_maker();
create trigger webhooks_remember_maker
  after insert on webhooks
  for each row when (new.created_by_kind = 'key') execute function remember_key_maker();
create trigger invitations_remember_maker
  after insert on invitations
  for each row when (new.created_by_kind = 'key') execute function remember_key_maker();
