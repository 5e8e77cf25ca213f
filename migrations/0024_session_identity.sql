-- +goose Up
-- Which runtime's conversation a deleted session was, and what that runtime called it: a late word of it must bring nothing back, and one of
-- another runtime that calls its conversation the same is not about it. '' for sessions deleted before this version.
alter table deleted_sessions add column runtime text not null default '';
alter table deleted_sessions add column runtime_session_id text not null default '';
create index deleted_sessions_runtime on deleted_sessions (runtime, runtime_session_id);
-- Lists of one runtime's sessions.
create index sessions_runtime_recent on sessions (runtime, archived, updated_at, id);

-- +goose Down
drop index sessions_runtime_recent;
drop index deleted_sessions_runtime;
alter table deleted_sessions drop column runtime_session_id;
alter table deleted_sessions drop column runtime;
