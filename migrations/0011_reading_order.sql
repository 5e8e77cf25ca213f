-- +goose Up
-- Where an entry stands in the transcript (transcript/place.go). Entries of before keep the order they first appeared in until their
-- session's history is taken in once.
alter table transcript_entries add column place bigint not null default 0;
update transcript_entries set place = ordinal * 128;
create index transcript_entries_place on transcript_entries (session_id, place, ordinal);

-- The turns entries belong to, in the order they are read.
create table transcript_turns (
	session_id text not null,
	turn_id    text not null,
	block      bigint not null,
	primary key (session_id, turn_id)
);
create index transcript_turns_block on transcript_turns (session_id, block);

-- Up to when (ms) the runtime's own history of a session is known to be stored here; 0 when it never was taken in.
alter table sessions add column history_at bigint not null default 0;

-- A turn and a message as the runtime describes them, for clients who read its own description of a conversation.
alter table turns add column native text not null default '';
create table runtime_messages (
	session_id text not null,
	message_id text not null,
	native     text not null,
	primary key (session_id, message_id)
);

-- What a session does now is looked up for every row of a list.
create index turns_recent on turns (session_id, started_at, turn_id);
create index turns_running on turns (session_id, started_at, turn_id) where status = 'inProgress';
create index interactive_requests_waiting on interactive_requests (session_id) where status = 'pending';

-- +goose Down
drop index interactive_requests_waiting;
drop index turns_running;
drop index turns_recent;
drop table runtime_messages;
alter table turns drop column native;
alter table sessions drop column history_at;
drop table transcript_turns;
drop index transcript_entries_place;
alter table transcript_entries drop column place;
