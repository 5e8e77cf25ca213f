-- +goose Up
-- What requests with an Idempotency-Key were answered, for a day.
create table idempotency_keys (
	id         text primary key, -- sha256 of who asks and the key, hex
	request    text not null,    -- sha256 of what is asked, hex
	node_id    text not null,    -- whose server answers it
	status     bigint not null,  -- HTTP's, 0 while it is under way, -1 when its server ended before it had answered
	answer     text not null,
	created_at bigint not null   -- ms
);
create index idempotency_keys_age on idempotency_keys (created_at);
create index idempotency_keys_open on idempotency_keys (node_id) where status = 0;

-- +goose Down
drop table idempotency_keys;
