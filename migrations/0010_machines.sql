-- Which server secrets the database is used with, what keeps a standby from authorizing anybody, and the order in which
-- maintenance finds old rows.

-- For each server secret in use, a value derived from it and used for nothing else. A node that knows none of them, or not
-- all of them while the secret is being changed, does not start.
create table server_secret_checks (
  kid text primary key,
  check_value bytea not null,
  since timestamptz not null
);

-- Part of every look-up that authorizes. A server can only become a standby by a restart, but a pooler or a proxy may lead
-- the same connection to another server. 25006 is what PostgreSQL itself says to a write on a standby.
create function require_primary() returns boolean stable language plpgsql as $$
begin
  if pg_is_in_recovery() then
    raise exception 'this server is a standby' using errcode = '25006';
  end if;
  return true;
end $$;

-- The oldest rows first, in bounded batches. The BRIN indexes they replace found whole ranges of pages, and ever wider ones
-- as the space of deleted rows was used again.
create index concurrently idempotent_responses_age_idx on idempotent_responses (created_at);
drop index idempotent_responses_created_at_idx;
create index concurrently webhook_deliveries_age_idx on webhook_deliveries (created_at);
drop index webhook_deliveries_created_at_idx;

-- Destroying the secret of a response must not touch its indexes, one of which is in random order: no index names what is
-- destroyed, and a page has room for the rows without their secrets.
create index concurrently idempotent_responses_resource_idx on idempotent_responses (resource_id) where reveals_secret;
drop index idempotent_responses_secrets_idx;
alter table idempotent_responses set (fillfactor = 80);
