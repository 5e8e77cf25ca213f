-- +goose Up
-- Ids that clients were given for sessions that were still being opened. pending until session_id is there (resolved) or never will be
-- (failed); which of the two is told once, by an event of the same transaction.
create table temporary_sessions (
	temporary_id text primary key,
	session_id text not null,
	runtime text not null,
	project_id text not null,
	node_id text not null,
	state text not null,
	created_at bigint not null
);

-- +goose Down
drop table temporary_sessions;
