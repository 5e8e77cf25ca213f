-- +goose Up
-- How far somebody has read a session. Of the session '' it is since when that is noted: older ones begin as read.
create table read_markers (
	reader     text not null,
	session_id text not null,
	message_id text not null,
	place      bigint not null, -- of that entry, -1 for none
	ordinal    bigint not null,
	at         bigint not null,
	primary key (reader, session_id)
);
create index read_markers_session on read_markers (session_id);

-- +goose Down
drop table read_markers;
