-- +goose Up
-- What people who log in are called, by actor. Actors of tokens have their name in the actor.
create table actors (
	actor text primary key,
	name  text not null
);
-- Who sent the messages of a turn, in order. The text itself is in the transcript.
create table message_authors (
	session_id text not null,
	turn_id    text not null,
	number     bigint not null, -- from 1
	actor      text not null,
	text_hash  text not null,   -- sha256 of the text, hex
	sent_at    bigint not null, -- ms
	primary key (session_id, turn_id, number)
);
-- Who wrote an entry, once its event is pruned.
alter table transcript_entries add column author text not null default '';
-- Who archived a session, '' if that is not known.
alter table sessions add column archived_by text not null default '';

-- +goose Down
alter table sessions drop column archived_by;
alter table transcript_entries drop column author;
drop table message_authors;
drop table actors;
