-- +goose Up
create table journal_head (
	id     bigint primary key,
	pos    bigint not null,
	oldest bigint not null,
	batch  text not null
);
insert into journal_head (id, pos, oldest, batch) values (1, 0, 1, '');

create table journal_sequences (
	session_id text primary key,
	seq        bigint not null
);

create table journal_events (
	pos            bigint primary key,
	seq            bigint not null,
	schema_version bigint not null,
	session_id     text not null,
	turn_id        text not null,
	item_id        text not null,
	type           text not null,
	time           bigint not null,
	source         text not null,
	actor          text not null,
	broadcast      bigint not null,
	trace_id       text not null,
	span_id        text not null,
	meta           text not null,
	payload        text not null
);
create unique index journal_events_session on journal_events (session_id, seq);
create index journal_events_broadcast on journal_events (pos) where broadcast = 1;

create table projects (
	id                text primary key,
	name              text not null,
	name_key          text not null unique,
	working_directory text,
	created_at        bigint not null,
	updated_at        bigint not null
);

create table sessions (
	id                 text primary key,
	runtime            text not null,
	runtime_session_id text not null,
	node_id            text not null,
	project_id         text references projects (id),
	title              text not null,
	cwd                text not null,
	source             text not null,
	model_provider     text not null,
	thread             text not null,
	controls           text,
	system_owned       bigint not null,
	archived           bigint not null,
	created_at         bigint not null,
	updated_at         bigint not null
);
create index sessions_recent on sessions (archived, updated_at, id);
create index sessions_project on sessions (project_id);
create unique index sessions_runtime on sessions (runtime, runtime_session_id);

create table deleted_sessions (
	session_id   text primary key,
	title        text not null,
	system_owned bigint not null,
	deleted_at   bigint not null
);

create table default_controls (
	id       bigint primary key,
	controls text not null
);

create table turns (
	session_id   text not null,
	turn_id      text not null,
	status       text not null,
	error        text not null,
	generation   text not null,
	node_id      text not null,
	started_at   bigint not null,
	completed_at bigint not null,
	primary key (session_id, turn_id)
);
create index turns_open on turns (node_id, generation) where status = 'inProgress';

create table interactive_requests (
	id           text primary key,
	kind         text not null,
	session_id   text not null,
	turn_id      text not null,
	item_id      text not null,
	method       text not null,
	summary      text not null,
	params       text not null,
	runtime      text not null,
	generation   text not null,
	native_id    text not null,
	node_id      text not null,
	status       text not null,
	reply        text not null,
	decided_by   text not null,
	created_at   bigint not null,
	settled_at   bigint not null
);
create unique index interactive_requests_native on interactive_requests (generation, native_id);
create index interactive_requests_session on interactive_requests (session_id, created_at);
create index interactive_requests_pending on interactive_requests (node_id, generation) where status = 'pending';

create table transcript_entries (
	session_id   text not null,
	message_id   text not null,
	ordinal      bigint not null,
	turn_id      text not null,
	role         text not null,
	type         text not null,
	content      text not null,
	details      text,
	status       text not null,
	started_at   bigint,
	completed_at bigint
);
-- In this order: before Postgres has statistics, both look equally good for finding a message, and it takes the younger. The other one
-- would read a whole session for each.
create unique index transcript_entries_order on transcript_entries (session_id, ordinal);
create unique index transcript_entries_message on transcript_entries (session_id, message_id);

-- +goose Down
drop table transcript_entries;
drop table interactive_requests;
drop table turns;
drop table default_controls;
drop table deleted_sessions;
drop table sessions;
drop table projects;
drop table journal_events;
drop table journal_sequences;
drop table journal_head;
