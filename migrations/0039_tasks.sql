-- +goose Up
-- What clients of the task API asked for. Of each session one task runs, the others wait in the order of their numbers.
create table tasks (
	id              text primary key,
	session_id      text not null,
	task_id         text not null,
	number          bigint not null, -- within the session, from 1
	status          text not null, -- queued, starting, running, completed, failed, stopped
	messages        text not null, -- JSON
	permission_mode text not null, -- '' for the session's
	stop_reason     text not null, -- '' until somebody stops it
	before_turn     text not null, -- the turns there were when its own was asked for (JSON), '' before
	turn_id         text not null, -- '' until it is known
	outcome         text not null, -- JSON, '' until it is over
	last_seq        bigint not null, -- of its last event, 0 until that is known
	actor           text not null, -- who asked for it, and in which trace
	trace_id        text not null,
	span_id         text not null,
	created_at      bigint not null, -- ms
	started_at      bigint not null, -- 0 until it is started
	ended_at        bigint not null -- 0 until it is over
);
create unique index tasks_name on tasks (session_id, task_id);
create unique index tasks_order on tasks (session_id, number);
create index tasks_open on tasks (session_id) where ended_at = 0;
create index tasks_age on tasks (ended_at, id);
-- The sessions the task API has to do with.
create table task_sessions (
	session_id      text primary key,
	permission_mode text not null, -- of its tasks, '' for none in particular
	created_at      bigint not null
);
-- From where on a session's events can be derived without reading what came before: what they are numbered from, and what is open.
create table task_marks (
	id          text primary key,
	session_id  text not null,
	seq         bigint not null, -- of the last event before
	journal_seq bigint not null, -- of the last record before
	state       text not null    -- JSON
);
create unique index task_marks_place on task_marks (session_id, journal_seq);
create index task_marks_seq on task_marks (session_id, seq);

-- +goose Down
drop table task_marks;
drop table task_sessions;
drop table tasks;
