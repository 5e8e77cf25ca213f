-- +goose Up
-- What the agent of a session may read by itself ('' for what it does unless told otherwise), and which files those were when the session began,
-- as JSON: path, kind, length and hash, never what is in them.
create table session_sources (
	session_id text primary key,
	implicit   text not null,
	sources    text not null
);

-- +goose Down
drop table session_sources;
