-- When a former member was removed or demoted last: they accept no invitation from before, whichever address it was sent to.
alter table former_members add column removed_at timestamptz;
