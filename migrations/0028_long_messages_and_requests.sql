-- +goose Up
-- What is long of messages and of interactive requests, in parts: the columns native and params of their rows are empty. To write a long text at
-- once takes several times its size of memory.
create table message_parts (
	session text not null,
	message text not null,
	number  bigint not null,
	part    text not null,
	primary key (session, message, number),
	foreign key (session, message) references runtime_messages (session_id, message_id) on delete cascade
);
create table request_parts (
	request text not null references interactive_requests (id) on delete cascade,
	number  bigint not null,
	part    text not null,
	primary key (request, number)
);

-- +goose Down
update runtime_messages set native = (select string_agg(part, '' order by number) from message_parts p
	where p.session = runtime_messages.session_id and p.message = runtime_messages.message_id) where native = '';
drop table message_parts;
update interactive_requests set params = (select string_agg(part, '' order by number) from request_parts p
	where p.request = interactive_requests.id) where params = '';
drop table request_parts;
