-- +goose Up
-- When the runtime that asked was told the decision, 0 until then: a decision may be made at another node than that of the runtime.
alter table interactive_requests add column delivered_at bigint not null default 0;
-- Before this column a decision was told where it was made; what still runs is told again, which a runtime's shim passes on once.
update interactive_requests set delivered_at = settled_at where status = 'resolved' and not exists (
	select 1 from turns t where t.session_id = interactive_requests.session_id and t.turn_id = interactive_requests.turn_id
		and t.status = 'inProgress');
create index interactive_requests_undelivered on interactive_requests (node_id) where status = 'resolved' and delivered_at = 0;
create index sessions_node on sessions (node_id);

-- +goose Down
drop index sessions_node;
drop index interactive_requests_undelivered;
alter table interactive_requests drop column delivered_at;
