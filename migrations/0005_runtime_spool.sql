-- +goose Up
-- How far each runtime process's output has been taken in. Moved in the transaction of what the output changed.
create table runtime_spools (
	generation text primary key,
	runtime    text not null,
	node_id    text not null,
	position   bigint not null,
	ended      bigint not null,
	updated_at bigint not null
);
create index runtime_spools_node on runtime_spools (node_id, ended);

-- +goose Down
drop table runtime_spools;
