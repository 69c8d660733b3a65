-- How many times keys of a store have been rotated since the midnight (UTC) before the newest rotation. Who took each secret is kept for
-- good, and settling somebody follows what they took, so a loop of rotations has to stop somewhere (src/keys/rotate.ts).
alter table stores add column rotations int not null default 0, add column rotations_since timestamptz;
