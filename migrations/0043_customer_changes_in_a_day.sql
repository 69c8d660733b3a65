-- How many customers of a store imports have changed since the midnight (UTC) before the newest one. Each change is an event, and events
-- are kept, so whoever changes a thousand customers back and forth would fill the database (src/customers/import.ts).
alter table stores add column customer_changes int not null default 0, add column customer_changes_since timestamptz;
