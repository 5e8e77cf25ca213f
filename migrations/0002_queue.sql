-- +goose Up
create table jobs (
	id                  text primary key,
	type                text not null,
	version             bigint not null,
	project_id          text not null,
	source_session_id   text,
	priority            text not null,
	state               text not null,
	dedupe_key          text,
	dedupe_mode         text not null,
	payload             text not null,
	result              text,
	error               text,
	attempts            bigint not null,
	max_attempts        bigint not null,
	created_at          bigint not null,
	started_at          bigint,
	completed_at        bigint,
	cancel_requested_at bigint,
	cancel_reason       text not null,
	next_attempt_at     bigint,
	last_attempt_at     bigint,
	thread_id           text,
	turn_id             text,
	node_id             text not null,
	owner               text not null,
	lease_until         bigint not null
);
-- The two invariants of the queue, held by the database whatever the code does.
create unique index jobs_single_flight on jobs (project_id, type, dedupe_key) where state in ('queued', 'running') and dedupe_mode = 'single_flight';
create unique index jobs_one_running on jobs (project_id) where state = 'running';
create index jobs_active on jobs (state) where state in ('queued', 'running');
create index jobs_project on jobs (project_id, created_at, id);
create index jobs_dedupe on jobs (project_id, type, dedupe_key);

create table job_lanes (
	project_id text primary key,
	burst      bigint not null
);

-- A worker session lives in the runtime of one node, so each node has its own for an owner and agent.
create table agent_workers (
	owner      text not null,
	agent      text not null,
	node_id    text not null,
	session_id text not null,
	prepared   text not null,
	primary key (owner, agent, node_id)
);

create table suggested_requests (
	session_id  text not null,
	request_key text not null,
	status      text not null,
	suggestion  text,
	error       text,
	updated_at  bigint not null,
	primary key (session_id, request_key)
);
create index suggested_requests_age on suggested_requests (updated_at);

-- +goose Down
drop table suggested_requests;
drop table agent_workers;
drop table job_lanes;
drop table jobs;
