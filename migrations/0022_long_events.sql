-- +goose Up
-- The payloads of long events, in parts: their rows in journal_events have none. To write a long text at once takes several times its size
-- of memory.
create table journal_parts (
	pos    bigint not null,
	number bigint not null,
	part   text not null,
	primary key (pos, number)
);

-- +goose Down
update journal_events set payload = (select string_agg(part, '' order by number) from journal_parts p where p.pos = journal_events.pos)
	where payload = '';
drop table journal_parts;
