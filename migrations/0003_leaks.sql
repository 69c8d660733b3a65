-- Which of a key's secrets was last reported as leaked: a new secret that leaks is news, the same one again is not. And
-- the end that a key had before a report brought it forward: a new secret gets it back.

alter table api_keys
  add column leaked_secret_no int,
  add column leak_shortened boolean not null default false,
  add column expires_before_leak timestamptz;

create or replace trigger api_keys_tell
  after update of name, permissions, metadata, hash, previous_hash, previous_expires_at, enabled, expires_at,
                  ip_allowlist, rate_limit, rate_limit_window_seconds, revoked_at, leaked_secret_no
     or delete on api_keys
  for each row execute function tell_key();
