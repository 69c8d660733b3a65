-- By it the sealing pass finds what waits. For whoever writes an event it takes the place of the other.
create index concurrently events_by_tx on events (tx, id);
drop index events_of_store;
