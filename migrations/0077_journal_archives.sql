-- +goose Up
-- Ranges of events that are kept outside of the database, in order and without a gap since archiving began.
create table journal_archives (
	first_pos bigint primary key,
	next_pos  bigint not null, -- the position after the last one
	name      text not null,   -- of the object
	bytes     bigint not null, -- of it
	stored_at bigint not null  -- ms
);
create index journal_archives_next on journal_archives (next_pos);
-- Which ranges have events of a session; deleted is 1 once they are to go from there.
create table journal_archive_sessions (
	session_id text not null,
	first_pos  bigint not null,
	deleted    integer not null default 0,
	primary key (session_id, first_pos)
);
create index journal_archive_deletions on journal_archive_sessions (first_pos) where deleted = 1;
-- Objects that stand for no range: those that are being stored, and those that another one has replaced. They are taken away when they are due.
create table journal_archive_garbage (
	name   text primary key,
	due_at bigint not null -- ms; 0 while it is taken away
);

-- +goose Down
drop table journal_archive_garbage;
drop table journal_archive_sessions;
drop table journal_archives;
