-- An account that was unlinked from the identity provider has to confirm its e-mail again, though it has confirmed it before.
-- It is not the first time then, so a link for a new password leaves the second factor as it is.

alter table users add column confirm_again_since timestamptz;

-- Until the e-mail is confirmed, or is another one. On every way, also those of an older release.
create function end_confirm_again() returns trigger
language plpgsql as $$
begin
  new.confirm_again_since := null;
  return new;
end
$$;

create trigger users_end_confirm_again
  before update of email, email_verified_at on users
  for each row
  when (old.confirm_again_since is not null
        and (new.email is distinct from old.email or new.email_verified_at is not null))
  execute function end_confirm_again();
