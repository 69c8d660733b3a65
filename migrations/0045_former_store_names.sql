-- Of memberships that ended before names were kept: the store's name now.
update former_members former
   set store_name = store.name
  from stores store
 where store.id = former.store_id;
