-- +goose Up
-- What a session needs to go on at another node: the last turn that its runtime's memory is stored with, and the mark of its folder ('' for none).
create table session_custody (
	session_id text primary key,
	turn_id    text not null,
	workspace  text not null,
	stored_at  bigint not null -- ms
);
-- The files in which its runtime remembers it, as they grow, in base64.
create table session_memory (
	session_id text not null,
	name       text not null,   -- below the runtime's folder
	starts     bigint not null, -- the offset of the first byte
	ends       bigint not null,
	part       text not null,
	primary key (session_id, name, starts)
);

-- +goose Down
drop table session_memory;
drop table session_custody;
