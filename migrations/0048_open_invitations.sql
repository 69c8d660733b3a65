-- Of a store's invitations only the open ones are listed and counted, however many were withdrawn or have expired. An expression,
-- and no condition: an index of the open ones alone would be taken for statements that another index is made for.
create index concurrently invitations_open_until_idx on invitations
  (store_id, (case when accepted_at is null and withdrawn_at is null then expires_at end));
drop index invitations_expires_at_idx;
