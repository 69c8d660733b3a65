-- Which of a key's secrets was last reported as leaked: a new secret that leaks is news, the same one again is not.

alter table api_keys add column leaked_secret_no int;
