-- +goose Up
-- Since when (ms) a session is known to be archived, 0 when it is not.
alter table sessions add column archived_at bigint not null default 0;
-- What is over is found by its age.
create index interactive_requests_settled on interactive_requests (settled_at, id) where status <> 'pending';
create index jobs_ended on jobs (completed_at, id) where state in ('completed', 'failed', 'canceled');
create index deleted_sessions_age on deleted_sessions (deleted_at);

-- +goose Down
drop index deleted_sessions_age;
drop index jobs_ended;
drop index interactive_requests_settled;
alter table sessions drop column archived_at;
