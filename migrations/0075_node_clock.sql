-- +goose Up
-- Whose clock leases are told by, and since when by it: a server that takes another's place has another clock. There is one row; 0 is before the first.
create table node_clock (
	id     bigint primary key,
	server bigint not null, -- when it was started, in microseconds
	since  bigint not null  -- ms
);
insert into node_clock (id, server, since) values (1, 0, 0);

-- +goose Down
drop table node_clock;
