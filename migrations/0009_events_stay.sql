-- What happened is neither taken out nor changed: not by this service, nor by a slip of the hand. (Whoever owns the database
-- can switch this off; then the chain tells: see `storekeeper events verify`.)
create trigger events_are_kept
  before delete or truncate on events
  for each statement execute function refuse_change();
create trigger event_seals_are_kept
  before delete or truncate on event_seals
  for each statement execute function refuse_change();
