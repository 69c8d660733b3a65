-- Mail that is still to be sent.

-- Written in the transaction that caused the mail. A row is deleted when its mail was sent or given up.
create table mails (
  id text collate "C" primary key,
  kind text not null,
  recipient text not null,
  -- What its text names: a store, a key, a place. Never a secret.
  data jsonb not null,
  -- The token of its link, sealed under the server secret that the kid names.
  token bytea,
  token_kid text,
  attempts int not null default 0,
  created_at timestamptz not null,
  -- A node that sends it moves this ahead: if the node dies, another finds the mail due again.
  next_attempt_at timestamptz not null,
  -- After this moment it is given up: its link would lead nowhere, or its news is old.
  expires_at timestamptz not null
);
create index mails_recipient_idx on mails (recipient);
-- Notices wait for mails that somebody waits for (src/mail/outbox.ts).
create index mails_order_idx on mails ((kind in ('key_expiring', 'keys_expiring')), next_attempt_at);
