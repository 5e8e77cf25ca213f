-- +goose Up
-- What clients of the task API say of themselves, and what the first event of a session says of its runtime (JSON).
alter table tasks add column origin text not null default '';
alter table task_sessions add column about text not null default '';

-- +goose Down
alter table task_sessions drop column about;
alter table tasks drop column origin;
