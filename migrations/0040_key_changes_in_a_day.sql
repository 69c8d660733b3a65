-- How many keys of a store bulk changes have named since the midnight (UTC) before the newest one, revocations aside. Each change is an
-- event, and events are kept, so whoever changes a thousand keys back and forth would fill the database (src/keys/bulk.ts).
alter table stores add column key_changes int not null default 0, add column key_changes_since timestamptz;
