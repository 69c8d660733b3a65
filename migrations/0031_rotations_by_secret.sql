-- What was taken with one secret of a key, when somebody is settled: a key that has rotated itself many times has as many
-- secrets, and with the index this one replaces all of its rotations were read for each of them.
create index concurrently key_rotations_taken_with_idx on key_rotations (rotated_by_id, rotated_by_secret_no);
drop index key_rotations_rotated_by_idx;
