-- Reads all events once. Others go on reading and writing meanwhile.
alter table events validate constraint events_first_bound;
