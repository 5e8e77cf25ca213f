-- +goose Up
-- Lists of all projects' jobs begin with the youngest.
create index jobs_created on jobs (created_at, id);

-- +goose Down
drop index jobs_created;
