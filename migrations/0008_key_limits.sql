-- What a key may spend: credits, and the windows of its rate limits.

-- Apart from the keys: a verification waits for no change of a key, and rewrites no more than it has to.
create table key_credits (
  key_id text collate "C" primary key references api_keys on delete cascade,
  remaining bigint not null check (remaining >= 0),
  refill_amount bigint,
  refill_interval text check (refill_interval in ('HOUR', 'DAY', 'MONTH')),
  -- Of a month. In months without that day, their last.
  refill_day int check (refill_day between 1 and 31),
  -- The next refill. The statement that finds it in the past refills, and moves it on.
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

-- The current windows of rate limits. Unlogged: after a crash of the database windows begin anew.
create unlogged table key_rate_windows (
  -- A window is named by its key, by its key and its name, or by the owner that keys share it for (src/keys/spend.ts).
  id text collate "C" primary key,
  began_at timestamptz not null,
  seconds int not null,
  used int not null
);

-- Spends from windows of rate limits, in one round trip and without holding a lock over it (src/keys/spend-sums.ts). Windows
-- of one group are spent together or not at all: what was taken from those of a group in which another has not enough is
-- given back before anybody sees it. Rows are locked in the order in which they are listed, which is that of their ids.
-- `enough`: the numbers of the windows, from 1, that have enough for their cost. `used`: what had been used of each before.
create function spend_windows(
  ids text[], groups int[], costs int[], limits int[], lengths int[],
  out enough int[], out used int[], out reset_seconds int[]
) language plpgsql as $$
begin
  with spent as (
    update key_rate_windows as running
       set began_at = case when running.began_at + wanted.seconds * interval '1 s' <= now()
                           then now() else running.began_at end,
           used = case when running.began_at + wanted.seconds * interval '1 s' <= now()
                       then 0 else running.used end + wanted.cost,
           seconds = wanted.seconds
      from unnest(ids, costs, limits, lengths) with ordinality as wanted(id, cost, max, seconds, n)
     where running.id = wanted.id
       and (wanted.cost = 0
            or running.used + wanted.cost <= wanted.max
            or (wanted.cost <= wanted.max and running.began_at + wanted.seconds * interval '1 s' <= now()))
    returning wanted.n::int, running.used - wanted.cost as used,
              least(wanted.seconds,
                    greatest(1, ceil(date_part('epoch', running.began_at - now()) + wanted.seconds)::int)) as reset_seconds
  )
  select array_agg(spent.n), array_agg(spent.used), array_agg(spent.reset_seconds)
    into enough, used, reset_seconds
    from spent;

  if cardinality(enough) < cardinality(ids) then
    with wanted as (
      select id, cost, "group", n = any(enough) as is_enough
        from unnest(ids, costs, groups) with ordinality as listed(id, cost, "group", n)
    )
    update key_rate_windows as running
       set used = running.used - wanted.cost
      from wanted
     where running.id = wanted.id
       and is_enough
       and "group" in (select "group" from wanted where not is_enough);
  end if;
end $$;
