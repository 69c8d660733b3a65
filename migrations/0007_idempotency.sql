-- Responses to requests with an Idempotency-Key. Neither that key nor the caller's credential is kept, and the response is
-- sealed under both.

create table idempotent_responses (
  lookup bytea primary key,
  fingerprint bytea not null,
  -- The response holds a secret, and may be replayed a few times within the hour only.
  reveals_secret boolean not null,
  status int not null,
  -- The resource that the request created, named when its secret can no longer be replayed.
  resource_id text collate "C",
  kid text not null,
  -- Without its salt a sealed response can be opened by nobody.
  salt bytea,
  sealed bytea,
  replays int not null default 0,
  created_at timestamptz not null
);
-- Rows are written in the order of time, so a few bytes for each range of pages are enough to find the old ones.
create index idempotent_responses_created_at_idx on idempotent_responses using brin (created_at);
create index idempotent_responses_secrets_idx on idempotent_responses (resource_id) where reveals_secret and salt is not null;
