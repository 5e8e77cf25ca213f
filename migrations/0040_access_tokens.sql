-- +goose Up
-- The named tokens by which people and machines come in. What they show is kept as its hash alone.
create table access_tokens (
	id         text primary key,
	name       text not null,
	role       text not null,   -- viewer, ci, operator, admin
	hash       text not null,   -- sha256 of the secret, hex
	created_at bigint not null, -- ms
	created_by text not null,
	expires_at bigint not null, -- ms, 0 for never
	revoked_at bigint not null  -- ms, 0 until it is revoked
);
create unique index access_tokens_hash on access_tokens (hash);
create unique index access_tokens_name on access_tokens (name) where revoked_at = 0;

-- +goose Down
drop table access_tokens;
