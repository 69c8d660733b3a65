-- Keys that were imported: their values are told from those that were never here, also after the key was rotated.

alter table api_keys
  -- Of a key that was imported: the HMAC of the value it came with. It stays when the key is rotated, so that an import
  -- that is sent again does not bring a replaced value back.
  add column imported_hash bytea;
create unique index api_keys_imported_hash_idx on api_keys (imported_hash) where imported_hash is not null;

-- The imported values that are still secrets of their keys. While there are none, a token of another form than ours is
-- not looked up.
drop index api_keys_imported_idx;
create index api_keys_imported_secret_idx on api_keys (id)
  where imported_hash = hash or imported_hash = previous_hash;
