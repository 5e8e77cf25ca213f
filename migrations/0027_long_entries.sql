-- +goose Up
-- What long entries say, in parts: the column encoded of their rows in transcript_entries is empty. To write a long text at once takes several
-- times its size of memory.
create table transcript_parts (
	session text not null,
	message text not null,
	number  bigint not null,
	part    text not null,
	primary key (session, message, number)
);

-- +goose Down
update transcript_entries set encoded = (select string_agg(part, '' order by number) from transcript_parts p
	where p.session = transcript_entries.session_id and p.message = transcript_entries.message_id) where encoded = '';
drop table transcript_parts;
