-- +goose Up
-- Background work that goes on in sessions. A task that is over has no row.
create table background_tasks (
	session_id text not null,
	task_id    text not null, -- of the runtime
	generation text not null, -- of the runtime process
	node_id    text not null,
	kind       text not null, -- command, agent or monitor
	command    text not null,
	turn_id    text not null, -- the turn that began it
	started_at bigint not null, -- ms
	can_end    integer not null, -- 0: only all at once
	primary key (session_id, task_id)
);
create index background_tasks_node on background_tasks (node_id);

-- +goose Down
drop table background_tasks;
