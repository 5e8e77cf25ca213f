-- +goose Up
-- Logins of people at OpenID Connect providers. What a browser or command line shows is kept as its hash alone.
create table logins (
	id           text primary key,
	hash         text not null,   -- sha256 of the secret, hex
	provider     text not null,   -- its name in HARNESS_OIDC_FILE
	subject      text not null,   -- the provider's id of the person
	session      text not null,   -- the provider's id of its session, '' for none
	actor        text not null,
	name         text not null,   -- what people call the person
	role         text not null,
	projects     text not null,   -- a JSON list of ids, '' for no limit
	created_at   bigint not null, -- ms
	expires_at   bigint not null, -- ms
	ended_at     bigint not null, -- ms, 0 until it is ended
	refresh      text not null,   -- the refresh token, sealed by a key of the client's secret; '' for none
	refreshed_at bigint not null  -- ms
);
create unique index logins_hash on logins (hash);
create index logins_subject on logins (provider, subject);

-- +goose Down
drop table logins;
