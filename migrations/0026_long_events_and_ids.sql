-- +goose Up
-- The payloads of long events, in parts: their rows in journal_events have none. To write a long text at once takes several times its size
-- of memory.
create table journal_parts (
	pos    bigint not null,
	number bigint not null,
	part   text not null,
	primary key (pos, number)
);

-- The id that the runtime gave a request, when it is too long to be found by and native_id is one that stands for it.
alter table interactive_requests add column native_request text not null default '';

-- +goose Down
alter table interactive_requests drop column native_request;
update journal_events set payload = (select string_agg(part, '' order by number) from journal_parts p where p.pos = journal_events.pos)
	where payload = '';
drop table journal_parts;
