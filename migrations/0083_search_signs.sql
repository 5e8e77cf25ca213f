-- +goose Up
-- Terms of the search index are made otherwise: signs of scripts without spaces, and of Korean, with the next one each. It is made anew.
-- unclean is 1 while the index, or the store's log, may have words of what was deleted.
alter table search_state add column unclean bigint not null default 0;
update search_state set pos = -1 where id = 1;

-- +goose Down
alter table search_state drop column unclean;
update search_state set pos = -1 where id = 1;
