// A function for the databases of benches: the least id that an event of a moment can have. Ids begin with the time, in ten
// digits of base 32 (src/core/ids.ts).

export const FIRST_EVENT_ID = `
  create function first_event_id(at timestamptz) returns text immutable strict parallel safe language sql as $$
    select 'evt_' || string_agg(
             substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((ms >> (5 * digit)) & 31)::int, 1), '' order by digit desc)
      from (select floor(extract(epoch from at) * 1000)::bigint as ms) as moment
     cross join generate_series(0, 9) as digit
  $$`
