-- When a customer is erased who is the owner of keys, the stored responses about these keys become unreadable: they name the
-- owner. Those that reveal a secret are found by idempotent_responses_resource_idx, the others by this index.
create index concurrently idempotent_responses_key_idx on idempotent_responses (resource_id)
  where resource_id ^@ 'key_' and not reveals_secret;
