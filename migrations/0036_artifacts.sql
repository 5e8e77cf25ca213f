-- +goose Up
-- What a reference to stored bytes says. Bytes are stored once for each content, whoever refers to them.
create table artifacts (
	id           text primary key,
	session_id   text not null, -- '' for none
	name         text not null,
	content_type text not null,
	size_bytes   bigint not null,
	hash         text not null, -- of the bytes as they are stored: sha256, hex
	created_at   bigint not null -- ms
);
create index artifacts_session on artifacts (session_id, created_at, id);
create index artifacts_hash on artifacts (hash);
-- The bytes of contents that every server of a database has to reach, in base64 parts of 1 MiB at most; those of a single server are files.
create table artifact_parts (
	hash   text not null,
	number bigint not null, -- from 0
	part   text not null,
	primary key (hash, number)
);

-- +goose Down
drop table artifact_parts;
drop table artifacts;
