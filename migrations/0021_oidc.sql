-- Sessions that were opened by an OpenID provider.

alter table sessions
  add column method text not null default 'password',
  -- Of a session opened by oidc: when the person signed in at the provider, which may be long before; null where the
  -- provider does not say. Null for every other method: its moment is created_at.
  add column authenticated_at timestamptz;
