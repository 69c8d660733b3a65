-- The e-mail that the identity provider claimed when the session began, empty if it said that it is not verified: the only one whose
-- invitations a user of the provider may accept. Null where it claimed none, and for sessions that did not begin there.
alter table sessions add column claimed_email text;
