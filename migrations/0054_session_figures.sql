-- +goose Up
-- What lists show of a session beside its row: the runtime's last plan and token usage.
create table session_figures (
	session_id text primary key,
	plan       text not null, -- {"turnId","explanation","plan"}, '' for none
	plan_turn  text not null,
	usage      text not null  -- {"total","last","modelContextWindow"}, '' for none
);
-- What was used on a day (UTC) by a session while it was in a project. Rows outlive their session.
create table usage_days (
	day        bigint not null, -- ms
	session_id text not null,
	project_id text not null,   -- '' for none
	runtime    text not null,
	requests   bigint not null, -- to the model, as far as the runtime told of them
	total      bigint not null, -- this and the following in tokens
	input      bigint not null,
	cached     bigint not null,
	output     bigint not null,
	reasoned   bigint not null,
	primary key (day, session_id, project_id)
);
create index sessions_created on sessions (archived, created_at, id);

-- +goose Down
drop index sessions_created;
drop table usage_days;
drop table session_figures;
