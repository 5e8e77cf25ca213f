-- +goose Up
-- Messages that wait for their session's turn to end.
create table queued_messages (
	id         text primary key,
	session_id text not null,
	place      bigint not null, -- they are sent in this order
	message    text not null,   -- JSON
	state      text not null,   -- queued, sending (told to the runtime) or held (it waits for a person)
	mark       text not null,   -- JSON, the turns there were when it was told; '' before
	error      text not null,   -- why it is held
	created_at bigint not null  -- ms
);
create index queued_messages_session on queued_messages (session_id, place);

-- +goose Down
drop table queued_messages;
