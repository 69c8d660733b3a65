-- An invitation that was made with a session ends when that session is ended for safety. Null for keys, for users of an
-- identity provider, and where it is not known.
alter table invitations add column created_by_session_id text collate "C";
