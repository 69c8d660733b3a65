-- The makers of what is there already. What is made meanwhile is remembered by the triggers of the migration before.
insert into key_makers (key_id, store_id, created_by_id, created_by_secret_no)
select key.id, key.store_id, key.created_by_id, key.created_by_secret_no
  from (
         select created_by_id as id from api_keys where created_by_kind = 'key'
          union
         select rotated_by_id from key_rotations where rotated_by_kind = 'key'
          union
         select created_by_id from webhooks where created_by_kind = 'key'
          union
         select created_by_id from invitations where created_by_kind = 'key'
       ) as maker
  join api_keys key on key.id = maker.id
    on conflict do nothing;
