-- How many customers a store has, for its quota. Null: they were not counted yet. Customers who are erased or unlinked stay
-- in the count, which is made anew when it reaches the quota.
alter table stores add column customer_count integer;
