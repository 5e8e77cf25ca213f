-- +goose Up
create table extension_reloads (
	reload_id       text primary key,
	recorded_at     bigint not null,
	actor_role      text not null,
	actor_id        text,
	ip              text,
	user_agent      text,
	result          text not null,
	snapshot_before text not null,
	snapshot_after  text,
	trust_mode      text not null,
	error_summary   text,
	impacted        text not null
);
create index extension_reloads_recent on extension_reloads (recorded_at, reload_id);

create table extension_actions (
	key        text primary key,
	signature  text not null,
	result     text not null,
	session_id text not null,
	created_at bigint not null
);

create table extension_cursors (
	node_id text primary key,
	pos     bigint not null
);

create table extension_file_changes (
	session_id text not null,
	turn_id    text not null,
	anchor_id  text not null,
	request_id text not null,
	created_at bigint not null,
	primary key (session_id, turn_id, anchor_id)
);

create table extension_dispatches (
	key        text primary key,
	kind       text not null,
	node_id    text not null,
	session_id text not null,
	turn_id    text not null,
	request_id text not null,
	state      text not null,
	attempts   bigint not null,
	created_at bigint not null,
	updated_at bigint not null
);
create index extension_dispatches_pending on extension_dispatches (node_id, created_at) where state = 'pending';

-- +goose Down
drop table extension_dispatches;
drop table extension_file_changes;
drop table extension_cursors;
drop table extension_actions;
drop table extension_reloads;
