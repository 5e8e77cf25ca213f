-- +goose Up
-- When a finished job's reconciliation that failed is due again; null when it owes none.
alter table jobs add column reconcile_at bigint;
create index jobs_owing on jobs (reconcile_at) where reconcile_at is not null;

-- +goose Down
drop index jobs_owing;
alter table jobs drop column reconcile_at;
