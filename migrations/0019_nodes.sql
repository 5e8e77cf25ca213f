-- +goose Up
-- Which process is a node now: a node id belongs to one server at a time. beat counts up while it lives; seen_at (ms) is by its own clock.
create table nodes (
	node_id text primary key,
	process text not null,
	place   text not null,
	owner   text not null,
	beat    bigint not null,
	seen_at bigint not null
);

-- +goose Down
drop table nodes;
