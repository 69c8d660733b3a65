-- The keys of a store that work, among any number that do not any more: to count them, and to list them.
-- By the end of the store's id, so that only statements that name it use this index. Without statistics any index of a store
-- seems to hold a few rows, and statements that have a better one would read it from end to end.
create index concurrently api_keys_live_idx on api_keys
  (right(store_id, 12),
   (case when revoked_at is null then coalesce(expires_at, 'infinity'::timestamptz) else '-infinity'::timestamptz end));
