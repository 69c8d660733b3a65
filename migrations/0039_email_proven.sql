-- Whether whoever confirmed the e-mail was signed in to the account, or has set its password by a link that was mailed there: then
-- the mailbox and the account are one person's. A link alone proves only the mailbox.
alter table users add column email_proven boolean not null default false;
