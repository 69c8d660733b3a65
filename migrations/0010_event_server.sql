-- The numbers of transactions mean something on one server only. The mark says on which: when it is another, the database
-- was moved, and the events that came along are looked through before anything else is (src/events/seal.ts).
alter table event_mark add column server text;

-- Without a mark, or without the end of a chain, nothing can be sealed any more.
create trigger event_mark_is_kept
  before delete or truncate on event_mark
  for each statement execute function refuse_change();
create trigger event_heads_are_kept
  before delete or truncate on event_heads
  for each statement execute function refuse_change();
