-- Erasing an owner of very many keys, and mails in the order of their urgency.

-- Owners whose external id was erased while more ended keys bear it than one transaction changes. The service works them off
-- (src/keys/erased-owners.ts); until then it shows these keys with the pseudonym. A row is deleted with the last of its keys.
create table erased_owners (
  store_id text collate "C" not null references stores on delete cascade,
  owner text collate "C" not null,
  pseudonym text collate "C" not null,
  -- Who erased them, for the events.
  actor json not null,
  -- Keys that had not ended then are not meant: whoever bears the same external id since is somebody else.
  erased_at timestamptz not null,
  -- The keys up to this id have the pseudonym.
  done_to text collate "C" not null,
  -- Owners take turns: the one that was worked on longest ago is next.
  worked_at timestamptz not null,
  primary key (store_id, owner)
);

-- Notices wait for mails that somebody waits for (src/mail/outbox.ts).
create index mails_order_idx on mails ((kind in ('key_expiring', 'keys_expiring')), next_attempt_at);
drop index mails_next_attempt_at_idx;
