-- +goose Up
-- Conversations of sessions that were deleted while their runtime did not answer: it still has to be told.
create table thread_deletions (
	session_id         text primary key,
	runtime            text not null,
	runtime_session_id text not null,
	node_id            text not null,
	created_at         bigint not null
);

-- +goose Down
drop table thread_deletions;
