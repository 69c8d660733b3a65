-- How many keys a store has made since the midnight (UTC) before its newest one. Revoked and expired keys stay, so whoever makes and
-- revokes keys in a loop would fill the database (src/keys/insert.ts).
alter table stores add column keys_made int not null default 0, add column keys_made_since timestamptz;
