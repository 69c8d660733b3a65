-- Spends from windows of rate limits, in one round trip and without holding a lock over it (src/keys/spend-sums.ts). Windows of one group are
-- spent together or not at all: what was taken from those of a group in which another has not enough is given back before
-- anybody sees it. Rows are locked in the order in which they are listed, which is that of their ids.
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
              least(wanted.seconds, greatest(1, ceil(date_part('epoch', running.began_at - now()) + wanted.seconds)::int)) as reset_seconds
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
