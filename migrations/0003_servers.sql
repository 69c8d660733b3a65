-- What the nodes of the service and the servers of the database must agree on: the server secret, and which server is the
-- primary.

-- The server secret that the operator has ordered everything to be moved to. Without this row no key is rehashed on use:
-- a node that has not been restarted yet may still take the previous secret for the current one.
create table server_secret (
  -- There is one row.
  n int primary key default 1 check (n = 1),
  kid text not null,
  since timestamptz not null
);

-- For each server secret in use, a value derived from it and used for nothing else. A node that knows none of them, or not
-- all of them while the secret is being changed, does not start.
create table server_secret_checks (
  kid text primary key,
  check_value bytea not null,
  since timestamptz not null
);

-- Part of every look-up that authorizes, so that a standby authorizes nobody. A server can only become a standby by a
-- restart, but a pooler or a proxy may lead the same connection to another server. 25006 is what PostgreSQL itself says to
-- a write on a standby.
create function require_primary() returns boolean stable language plpgsql as $$
begin
  if pg_is_in_recovery() then
    raise exception 'this server is a standby' using errcode = '25006';
  end if;
  return true;
end $$;
