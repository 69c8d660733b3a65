-- Who took each secret of a key, and which keys made something. When a member goes or loses rights, what they made and took
-- is followed, to be listed and ended (src/keys/made.ts).

-- Who rotated a key, and so took its new secret. The first secret of a key was taken by the creator of the key.
create table key_rotations (
  key_id text collate "C" not null references api_keys on delete cascade,
  -- The number of the secret that was taken.
  secret_no int not null,
  rotated_by_kind text not null,
  rotated_by_id text collate "C" not null,
  -- Of a key that rotated another, or itself: the number of the secret it was called with.
  rotated_by_secret_no int,
  rotated_at timestamptz not null,
  primary key (key_id, secret_no)
);
-- A key that has rotated itself many times has as many secrets: without their number in the index, all of its rotations
-- would be read for each of them.
create index key_rotations_taken_with_idx on key_rotations (rotated_by_id, rotated_by_secret_no);
-- As in api_keys.
alter table key_rotations alter column rotated_by_id set (n_distinct = -0.1);

-- The keys with which a key, a webhook or an invitation was made, or the secret of a key taken: who made them, and with
-- which secret, as in api_keys. A store has any number of keys that were revoked or have expired. Of these only the ones
-- something was made with are followed, so they are kept apart; the others are passed by.
create table key_makers (
  key_id text collate "C" primary key references api_keys on delete cascade,
  store_id text collate "C" not null,
  created_by_id text collate "C" not null,
  created_by_secret_no int
);
create index key_makers_made_idx on key_makers (created_by_id, store_id, created_by_secret_no);
alter table key_makers alter column created_by_id set (n_distinct = -0.1);

-- A trigger, so that no writer can forget it. It runs under the lock of the store, so nobody waits here.
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

create trigger api_keys_remember_maker
  after insert on api_keys
  for each row when (new.created_by_kind = 'key') execute function remember_key_maker();
create trigger key_rotations_remember_maker
  after insert on key_rotations
  for each row when (new.rotated_by_kind = 'key') execute function remember_key_maker();
create trigger invitations_remember_maker
  after insert on invitations
  for each row when (new.created_by_kind = 'key') execute function remember_key_maker();
