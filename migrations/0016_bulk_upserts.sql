-- +goose Up
-- A request of so many entries that they take several transactions: the whole of it, stored with the first of them and gone with the last,
-- so that the server completes what it was killed in.
create table bulk_upserts (
	id         text primary key,
	node_id    text not null,
	session_id text not null,
	origin     text not null,
	entries    text not null,
	stored     bigint not null
);

-- +goose Down
drop table bulk_upserts;
