-- +goose Up
-- The calls of tools of this server, one row for each attempt. Of a call that is decided or over the journal's events say the rest.
create table tool_calls (
	id         text primary key,
	session_id text not null,
	turn_id    text not null,
	native_id  text not null, -- what the runtime calls it, '' when it does not say
	tool       text not null,
	attempt    bigint not null,
	input_hash text not null,
	node_id    text not null,
	status     text not null, -- requested, running, completed, denied, interrupted
	created_at bigint not null, -- ms
	settled_at bigint not null  -- 0 until it is over
);
-- Attempts of the same call, and what a node left behind.
create index tool_calls_same on tool_calls (session_id, tool, input_hash, attempt);
create index tool_calls_native on tool_calls (session_id, native_id) where native_id <> '';
create index tool_calls_open on tool_calls (node_id) where settled_at = 0;
create index tool_calls_age on tool_calls (settled_at, id);
-- Which session a conversation became that was given its access to tools before it had a name.
create table tool_grants (
	grant_id   text primary key,
	session_id text not null,
	created_at bigint not null
);
create index tool_grants_session on tool_grants (session_id);

-- +goose Down
drop table tool_grants;
drop table tool_calls;
