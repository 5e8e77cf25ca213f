-- +goose Up
-- What messages that came with an Idempotency-Key made, for a day.
create table message_keys (
	key        text primary key, -- names the request
	session_id text not null,
	mark       text not null,    -- while its runtime is told: the turns the session had before; else ''
	made       text not null,    -- the turn, or the message that waits; with mark '' and made '' nobody can tell
	created_at bigint not null   -- ms
);
create index message_keys_session on message_keys (session_id);
create index message_keys_open on message_keys (session_id) where mark <> '';
create index message_keys_age on message_keys (created_at);
-- 1: who does the request recognises what it did, and is given it again when a server ended in the middle.
alter table idempotency_keys add column again integer not null default 0;

-- +goose Down
alter table idempotency_keys drop column again;
drop table message_keys;
