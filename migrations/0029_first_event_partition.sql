-- Events are going to be partitioned by month. The table as it is becomes the first partition, without being copied: this
-- check says which ids it holds, and is validated beside the traffic before the table is attached (0030, 0031).

-- The least id that an event of that moment can have: ids begin with the time, in ten digits of base 32 (src/core/ids.ts).
create function first_event_id(at timestamptz) returns text immutable strict parallel safe language sql as $$
  select 'evt_' || string_agg(
           substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((ms >> (5 * digit)) & 31)::int, 1), '' order by digit desc)
    from (select floor(extract(epoch from at) * 1000)::bigint as ms) as moment
   cross join generate_series(0, 9) as digit
$$;

-- Until the end of the next month; further, where a node's clock was so far ahead.
do $$
begin
  execute format(
    'alter table events add constraint events_first_bound check (id < %L) not valid',
    (
      select greatest(
               first_event_id((date_trunc('month', now() at time zone 'UTC') + interval '2 months') at time zone 'UTC')
                 collate "C",
               max(id) || '0'
             )
        from events
    )
  );
end $$;
