-- +goose Up
-- What happened, each row sealed by the hash of the one before: whoever changes or removes one breaks the chain there.
create table audit_log (
	seq        bigint primary key, -- from 1, gap-free
	pos        bigint not null,    -- of the journal's event that it is of
	session_id text not null,      -- '' for what is of no session
	at         bigint not null,    -- ms
	actor      text not null,
	kind       text not null,
	detail     text not null,      -- JSON
	hash       text not null       -- sha256, hex, of all of these and the hash of the row before
);
create index audit_log_session on audit_log (session_id, seq);
-- What the chain was when a server signed it: what is cut off behind a checkpoint is missed.
create table audit_checkpoints (
	seq  bigint primary key, -- of the last row it is of
	at   bigint not null,    -- ms
	note text not null       -- signed
);

-- +goose Down
drop table audit_checkpoints;
drop table audit_log;
