-- +goose Up
-- Keys that this store's servers made for themselves: of links that decide (link).
create table notify_keys (
	name text primary key,
	key  text not null
);

-- +goose Down
drop table notify_keys;
