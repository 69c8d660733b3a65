-- Owners, credits and named rate limits of keys, and keys that were imported from elsewhere.

alter table api_keys
  -- The id that the store's own system has for whomever the key is for.
  add column owner text collate "C",
  -- Beside rate_limit: [{name, limit, windowSeconds, shared}].
  add column rate_limits json not null default '[]',
  -- Whether the key has a row in key_credits.
  add column has_credits boolean not null default false,
  -- Made elsewhere, and not rotated since: its secret has a form that is not ours, and its hash is made of the SHA-256 of
  -- the secret, since that may be all that was known of it.
  add column imported boolean not null default false;
create index api_keys_owner_idx on api_keys (store_id, owner, id) where owner is not null;
create index api_keys_imported_idx on api_keys (id) where imported;

-- Apart from the keys: a verification waits for no change of a key, and rewrites no more than it has to.
create table key_credits (
  key_id text collate "C" primary key references api_keys on delete cascade,
  remaining bigint not null check (remaining >= 0),
  refill_amount bigint,
  refill_interval text check (refill_interval in ('HOUR', 'DAY', 'MONTH')),
  -- Of a month. In months without that day, their last.
  refill_day int check (refill_day between 1 and 31),
  -- The next refill. Whoever finds it in the past refills, and moves it on.
  refills_at timestamptz,
  constraint key_credits_refill_complete check (
    (refill_amount is null) = (refill_interval is null)
    and (refill_amount is null) = (refills_at is null)
    and (refill_day is not null) = coalesce(refill_interval = 'MONTH', false)
  )
) with (fillfactor = 50);

-- The first refill after `at`, in UTC: at the beginning of an hour or a day.
create function next_refill(at timestamptz, refill_interval text, refill_day int) returns timestamptz
  language sql stable parallel safe
  return case refill_interval
    when 'HOUR' then date_trunc('hour', at, 'UTC') + interval '1 hour'
    when 'DAY' then date_trunc('day', at, 'UTC') + interval '1 day'
    when 'MONTH' then (
      select min(refill)
        from generate_series(0, 1) as ahead
       cross join lateral (
               select (date_trunc('month', at at time zone 'UTC') + ahead * interval '1 month') as month
             ) as counted
       cross join lateral (
               select least(month + (refill_day - 1) * interval '1 day', month + interval '1 month' - interval '1 day')
                      at time zone 'UTC' as refill
             ) as candidate
       where refill > at
    )
  end;

-- A window is named by its key, by its key and its name, or by the owner that keys share it for (src/keys/spend.ts).
alter table key_rate_windows rename column key_id to id;

drop trigger api_keys_notify_changed on api_keys;
create trigger api_keys_notify_changed
  after update of name, permissions, metadata, hash, previous_hash, previous_expires_at, enabled, expires_at,
                  ip_allowlist, rate_limit, rate_limit_window_seconds, revoked_at, leaked_secret_no, owner, rate_limits,
                  has_credits
     or delete on api_keys
  for each row execute function notify_key_changed();
