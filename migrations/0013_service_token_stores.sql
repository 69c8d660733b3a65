-- A service token asks about the keys of its stores. Null: of every store; so do the tokens issued before.

alter table service_tokens
  add column store_ids text[] collate "C",
  -- The owner who issued it for their store. Null: the operator, by a command.
  add column created_by text collate "C";

-- For the list of the tokens that owners have issued for a store.
create index service_tokens_store_ids_idx on service_tokens (store_ids, id) where created_by is not null;
