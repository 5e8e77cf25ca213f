-- +goose Up
-- What was used on a day (UTC) by a session with a model, while it was in a project. It continues usage_days, whose rows
-- have no model and which older servers of the same store still write. Rows outlive their session.
create table model_usage (
	day        bigint not null, -- ms
	session_id text not null,
	project_id text not null,   -- '' for none
	model      text not null,   -- '' if unknown
	runtime    text not null,
	requests   bigint not null, -- to the model, as far as the runtime reported them
	total      bigint not null, -- this and the following in tokens
	input      bigint not null,
	cached     bigint not null,
	output     bigint not null,
	reasoned   bigint not null,
	primary key (day, session_id, project_id, model)
);
-- What a model costs from a day on, in millionths of a US dollar per million tokens. They precede the built-in prices.
create table prices (
	id         text primary key,
	model      text not null,
	since      bigint not null, -- ms, the start of a day (UTC)
	input      bigint not null,
	cached     bigint not null,
	output     bigint not null,
	actor      text not null,
	created_at bigint not null,
	unique (model, since)
);
-- The model that the runtime reported for the session, and the one of the turn that used last; '' if unknown.
alter table sessions add column model text not null default '';
alter table session_figures add column model text not null default '';
alter table session_figures add column model_turn text not null default '';

-- +goose Down
alter table session_figures drop column model_turn;
alter table session_figures drop column model;
alter table sessions drop column model;
drop table prices;
drop table model_usage;
