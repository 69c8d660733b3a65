-- An invitation that was made with a key is worth something as long as the very secret that it was made with is. Without a
-- number it is worth nothing: that of a key which was rotated since cannot be told.
alter table invitations add column created_by_secret_no int;

update invitations invitation
   set created_by_secret_no = key.secret_no
  from api_keys key
 where invitation.created_by_kind = 'key'
   and invitation.accepted_at is null
   and invitation.withdrawn_at is null
   and key.id = invitation.created_by_id
   and coalesce(key.rotated_at, '-infinity') < invitation.created_at;
